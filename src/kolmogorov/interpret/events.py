"""Events: what sets them apart, what they are called, and a summary of all of them."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from kolmogorov._support.display import bars, card, note, table
from kolmogorov._support.outside import to_frame
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data import Vocabulary
from kolmogorov.data.observations import reaching
from kolmogorov.descent.fitted import Fitted

#: By the genres that films of one name share, on u1 of MovieLens 100K: likes that an item counts as expecting of every
#: event beside its own, so that what is rarely seen stands out in none; and the power of its likes in an event that
#: counts, so that an event is named by what many of its people know.
_DOUBT, _KNOWN = 10.0, 0.5
#: Items in a name, and letters of each. By judgement: what fits beside a bar.
_IN_NAME, _LONGEST = 2, 28
#: One item of a name is among this share of all, those with the most answers, if any of so many that stand out is.
_WELL_KNOWN, _CHOSEN_FROM = 0.2, 40
#: An event is a level where so much of what sets it apart is that everything is rated higher, or lower. By judgement:
#: of those found in MovieLens 100K none has between 0.45 and 0.7.
_LEVEL = 0.6
#: What is added to the name of an event that another sample of chains does not have.
MARK = "(not found again)"
#: Names that are looked at to know how long they are.
_LOOKED = 2000
#: Events that a summary names: what fits on a screen. By judgement.
_NAMED = 12
#: A colour for each event, the same as in the report.
_COLOURS = (
    "#4269d0", "#e68a00", "#d6453d", "#1f9e89", "#3ca951", "#e377b0", "#8f5bd6", "#5aa5d6", "#9c6b4e", "#7a7f87",
    "#b8a000", "#c2185b",
)  # fmt: skip
#: What is no event.
GREY = "#9aa0a6"


def colour(event: int) -> str:
    """Return the colour of an event; after the first twelve, lighter and darker ones.

    Examples
    --------
    >>> colour(0), colour(12) != colour(0)
    ('#4269d0', True)
    """
    if event < len(_COLOURS):
        return _COLOURS[event]
    base, turn = _COLOURS[(5 * event) % len(_COLOURS)], (event // len(_COLOURS)) % 4
    share, other = (0.58 if turn < 3 else 0.75), (255 if turn % 2 else 0)
    parts = (int(base[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(f"{round(share * part + (1 - share) * other):02x}" for part in parts)


def shortened(text: str, most: int) -> str:
    """Return a text of at most so many letters, cut once, between words; what ends a title in brackets stays whole.

    Examples
    --------
    >>> shortened("Situation of human rights in the Islamic Republic of Iran (2019)", 40)
    'Situation of human rights in the… (2019)'
    >>> shortened("International trade and development, as… (2018)", 30)
    'International trade… (2018)'
    """
    if len(text) <= most:
        return text
    title, _, last = text.rpartition(" (")
    end = f" ({last}" if title and last.endswith(")") and len(last) <= most // 3 else ""
    title = text.removesuffix(end)
    room = most - len(end) - 1
    if len(title) > room:
        cut = title[: room + 1].rfind(" ")
        title = title[: cut if 2 * cut >= room else room]
        opened = title.rfind("(")
        if opened > title.rfind(")") and 3 * opened >= room:
            title = title[:opened]
    return f"{title.rstrip(' ,:;…')}…{end}"


@dataclass(frozen=True)
class Event:
    """One elementary event.

    Attributes
    ----------
    number : int
        Column of theta and psi.
    name : str
        The items that set it apart most; no two events are named by the same while there are others. Where titles are
        too long for a name and users have names of their own, the users who are most of all in it. "rates low" or
        "rates high" (of yes and no "says no" and "says yes") where what sets it apart is that level. One that another
        sample does not have is marked.
    share : float
        Mean probability of the event over the users observed; the shares of all events sum to 1.
    stability : float
        How well it is found again in another sample of chains, as in `stability_`; NaN where nothing was compared.
    is_level : bool
        Whether people are in it who answer higher or lower, whatever they are asked.
    n_items : int
        How many items happen in it: of soft psi those with at least one half there, of ratings those that are a like.
    items, rows : tuple of str, tuple of int
        Those that its people like more than everybody does, the most telling first; and their row numbers.
    users : tuple of str
        Those who are most in it, the most first.
    """

    number: int
    name: str
    share: float
    stability: float
    is_level: bool
    n_items: int
    items: tuple[str, ...]
    rows: tuple[int, ...]
    users: tuple[str, ...]


class Events(list[Event]):
    """All events of a model, by number: a list that notebooks show as a table."""

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the events as a data frame, one row each; several names are joined by commas."""
        names = ("number", "name", "share", "stability", "n_items")
        columns: dict[str, Any] = {name: [getattr(event, name) for event in self] for name in names}
        return to_frame(
            columns | {k: [", ".join(getattr(event, k)) for event in self] for k in ("items", "users")}, backend
        )

    def _repr_html_(self) -> str:
        columns: dict[str, list[Any]] = {
            "event": [event.number for event in self],
            "name": [event.name for event in self],
            "share": [f"{event.share:.0%}" for event in self],
            "liked more than by everybody": [", ".join(event.items) for event in self],
            "most in it": [", ".join(event.users) for event in self],
        }
        return card(f"{len(self)} events", table(columns))


@dataclass(frozen=True, eq=False)
class EventItems:
    """How far each item stands out in each event of a model, and what the events are called for it."""

    fitted: Fitted

    @cached_property
    def likes(self) -> Floats:
        """How much the people of each event like each item, all together: what they said above the usual, summed.

        A user counts to an event as far as theta says; float64[n_items, D].
        """
        rows, shape = self.fitted.training.rows, (len(self.fitted.users), len(self.fitted.items))
        values = rows.values
        if self.fitted.points.size > 2:
            # Of ratings, those of the upper half say that something is liked.
            values = reaching(values, self.fitted.likes).astype(np.float64)
        said = csr_array((values, rows.indices, rows.indptr), shape=shape)
        return np.asarray(said.T @ self.fitted.theta)

    @cached_property
    def expected(self) -> Floats:
        """The same, if all events liked the same things as much as they like anything."""
        share = self.likes.sum(axis=0) / max(float(self.likes.sum()), 1e-300)
        return self.likes.sum(axis=1, keepdims=True) * share

    @cached_property
    def score(self) -> Floats:
        """How far an item stands out in an event, times the share of its standing out that falls to this event.

        Standing out is counted in deviations: likes beyond those expected over the root of these. What stands out
        everywhere else too says less of the event, and what few of its people know says less to anybody.
        """
        out = np.maximum(self.likes - self.expected, 0.0) / np.sqrt(self.expected + _DOUBT)
        total = out.sum(axis=1, keepdims=True)
        score: Floats = out**2 / np.where(total > 0.0, total, 1.0) * (self.likes + 1.0) ** _KNOWN
        return score

    def best(self, event: int, count: int, used: Any = ()) -> Rows:
        """Return the items that tell most of an event, the most telling first; those `used` come after all others.

        Where items have titles, those without come last of all: an id tells nobody anything.
        """
        items = self.fitted.items
        untitled = np.zeros(len(items), dtype=bool) if items.labels is None else items.labels == items.ids
        return _first(self.score[:, event], count, 2 * untitled + np.isin(np.arange(len(items)), used))

    def most(self, event: int, count: int, used: Any = ()) -> Rows:
        """Return the users observed who are most in an event, the most first; those `used` come after all others."""
        share = np.where(self.fitted.user_seen, self.fitted.theta[:, event], 0.0)
        return _first(share, count, np.isin(np.arange(share.size), used))

    @cached_property
    def by_people(self) -> bool:
        """Whether events are named by users: items' titles do not fit into a name, and users are called by words."""
        sides = (self.fitted.items, self.fitted.users)
        items, users = ([side.name(row) for row in range(min(len(side), _LOOKED))] for side in sides)
        long = [float(np.median([len(name) for name in names])) > _LONGEST for names in (items, users)]
        worded = np.mean([any(letter.isalpha() for letter in name) for name in users]) > 0.5
        return long[0] and not long[1] and bool(worded)

    @cached_property
    def named_rows(self) -> dict[int, list[int]]:
        """The items, or the users, that each event is named by; the events that like most choose first."""
        best, used = self.most if self.by_people else self.best, list[int]()
        counts, chosen = self.fitted.item_counts, dict[int, list[int]]()
        known = counts >= np.quantile(counts, 1.0 - _WELL_KNOWN)
        for event in np.argsort(-self.likes.sum(axis=0), kind="stable").tolist():
            rows = best(event, _IN_NAME, used)
            if not self.by_people and rows.size == _IN_NAME and not known[rows].any():
                further = best(event, _CHOSEN_FROM, used)
                rows[-1:] = np.append(further[known[further]], rows[-1])[:1]
            used += rows.tolist()
            chosen[event] = rows.tolist()
        return chosen

    def names(self) -> list[str]:
        """Name every event by its items, or by its users, or by its number where nothing sets it apart.

        One that is a level is named so. This is the one place where events get their names.
        """
        side: Vocabulary = self.fitted.users if self.by_people else self.fitted.items

        def word(row: int) -> str:
            """Return a title, or the id where that is blank."""
            return shortened(side.name(row) if side.name(row).strip() else str(side.ids[row]), _LONGEST)

        words = {event: list(map(word, rows)) for event, rows in self.named_rows.items()}
        chosen = [level or " · ".join(words[event]) or f"event {event}" for event, level in enumerate(self.levels)]
        # Titles that begin alike may be the same when they are cut.
        often = Counter(chosen)
        for event, name in enumerate(chosen):
            if often[name] > 1:
                # What this one alone has: its first item, or its number.
                own = self.levels[event] and words[event]
                chosen[event] = f"{name} · {words[event][0]}" if own else f"{name} [{event}]"
        lost = self.fitted.lost
        return [f"{name} {MARK}" if lost[event] else name for event, name in enumerate(chosen)]

    @cached_property
    def levels(self) -> list[str]:
        """What events are called whose people answer higher or lower than most, whatever they are asked; else nothing.

        So are events of which that difference is most of how their items differ from what everybody says of them.
        """
        fitted = self.fitted
        # Where only yes is recorded, nobody answers lower.
        if self.by_people or fitted.n_events < 2 or (fitted.points.size == 2 and np.all(fitted.training.values == 1.0)):
            return [""] * fitted.n_events
        weights = fitted.item_counts / max(int(fitted.item_counts.sum()), 1)
        apart = fitted.psi - fitted.psi @ fitted.population[:, None]
        higher = weights @ apart
        is_level = higher**2 >= _LEVEL * np.maximum(weights @ apart**2, 1e-300)
        low, high = ("says no", "says yes") if fitted.training.is_binary else ("rates low", "rates high")
        return np.select([is_level & (higher > 0.0), is_level], [high, low], "").tolist()  # type: ignore[no-any-return]

    def events(self, n_items: int = 10, n_users: int = 5) -> Events:
        """Describe every event by so many items and users at most."""
        fitted, found = self.fitted, Events()
        least = 0.5 if fitted.psi.dtype == bool or fitted.training.is_binary else fitted.likes
        inside = reaching(fitted.psi[fitted.item_seen], least).sum(axis=0)
        stability = np.full(fitted.n_events, np.nan) if fitted.stability is None else fitted.stability
        for number, name in enumerate(self.names()):
            rows = tuple(self.best(number, n_items).tolist())
            items = tuple(fitted.items.name(row) for row in rows)
            users = tuple(fitted.users.name(row) for row in self.most(number, n_users).tolist())
            about = float(fitted.population[number]), float(stability[number]), bool(self.levels[number])
            found.append(Event(number, name, *about, int(inside[number]), items, rows, users))
        return found


def _first(score: Floats, count: int, last: NDArray[Any]) -> Rows:
    """Return the places of the largest scores above 0, those of a lower `last` first."""
    order = np.lexsort((-score, last, score <= 0.0))[:count]
    return order[score[order] > 0.0]


def summary(name: str, fitted: Fitted, settings: str) -> str:
    """Return a model's events by name and share, with what they were learned from, as HTML."""
    events = sorted(EventItems(fitted).events(0), key=lambda event: -event.share)
    shown, rest = events[:_NAMED], len(events) - _NAMED
    users, items = int(fitted.user_seen.sum()), int(fitted.item_seen.sum())
    data = f"learned from {len(fitted.training):,} observations of {users:,} users and {items:,} items"
    return card(
        f"{name}: {len(events)} events",
        note(f"{data}; {settings}"),
        bars(
            [event.name for event in shown],
            [event.share for event in shown],
            [f"{event.share:.0%}" for event in shown],
            [colour(event.number) for event in shown],
        ),
        note(f"and {rest} more") if rest > 0 else "",
        note(f"last training error (RMSE): {fitted.history[-1].rmse:.4f}") if fitted.history else "",
    )
