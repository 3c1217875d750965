"""Events: what sets them apart, what they are called, what attributes mean for them, and a summary of all of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from kolmogorov._support.markup import bars, card, note, table
from kolmogorov._support.optional import to_frame
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data import Vocabulary
from kolmogorov.data.attributes import Attribute
from kolmogorov.data.observations import reaching
from kolmogorov.descent.attributes import Placing, Side
from kolmogorov.descent.fitted import Fitted

#: Likes that an item counts as expecting of every event beside its own: what is rarely seen stands out in none. Chosen
#: by benchmarks/coherence.py on a split that is not reported.
_DOUBT = 0.5
#: Items in a name, and letters of each. By judgement: what fits beside a bar.
_IN_NAME, _LONGEST = 2, 28
#: An event in which so few things happen beside the usual share of yeses is one of little; one in which so few do not
#: happen, of nearly everything. By judgement.
_FEW = 0.125
#: Names that are looked at to know how long they are.
_LOOKED = 2000
#: Events that a summary names: what fits on a screen. By judgement.
_NAMED = 12
#: The least difference of chances that an event is described by. By judgement.
_LITTLE = 0.02
#: A colour for each event, the same as in the report.
_COLOURS = (
    "#4269d0", "#e68a00", "#d6453d", "#1f9e89", "#3ca951", "#e377b0", "#8f5bd6", "#5aa5d6", "#9c6b4e", "#7a7f87",
    "#b8a000", "#c2185b",
)  # fmt: skip
#: What is no event, and what is alone in a picture.
GREY, BLUE = "#9aa0a6", "#4269d0"


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
        too long for a name and users have names of their own, the users who are most of all in it. "likes nearly
        everything" or "likes little" (of yes and no "yes to ...") where nearly all items happen in it, or hardly any.
    share : float
        Mean probability of the event over the users observed; the shares of all events sum to 1.
    n_items : int
        How many items happen in it: those with the event in their support. Of soft psi, those with at least one half
        there, or of ratings those that are a like there.
    items : tuple of str
        Those that its people like more than everybody does, the most telling first.
    rows : tuple of int
        Their row numbers.
    users : tuple of str
        Those who are most in it, the most first.
    """

    number: int
    name: str
    share: float
    n_items: int
    items: tuple[str, ...]
    rows: tuple[int, ...]
    users: tuple[str, ...]


class Events(list[Event]):
    """All events of a model, by number: a list that notebooks show as a table."""

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the events as a data frame, one row each; several names are joined by commas."""
        columns: dict[str, Any] = {name: [getattr(event, name) for event in self] for name in ("number", "name")}
        columns |= {name: [getattr(event, name) for event in self] for name in ("share", "n_items")}
        columns |= {name: [", ".join(getattr(event, name)) for event in self] for name in ("items", "users")}
        return to_frame(columns, backend)

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
        everywhere else too says less of the event.
        """
        out = np.maximum(self.likes - self.expected, 0.0) / np.sqrt(self.expected + _DOUBT)
        total = out.sum(axis=1, keepdims=True)
        score: Floats = out**2 / np.where(total > 0.0, total, 1.0)
        return score

    def best(self, event: int, count: int, used: Any = ()) -> Rows:
        """Return the items that tell most of an event, the most telling first; those `used` come after all others.

        Where items have titles, those without come last of all: an id tells nobody anything.
        """
        score = self.score[:, event]
        last = self._untitled + np.isin(np.arange(score.size), used)
        order = np.lexsort((-score, last, score <= 0.0))[:count]
        return order[score[order] > 0.0]

    def most(self, event: int, count: int, used: Any = ()) -> Rows:
        """Return the users observed who are most in an event, the most first; those `used` come after all others."""
        share = np.where(self.fitted.user_seen, self.fitted.theta[:, event], 0.0)
        order = np.lexsort((-share, np.isin(np.arange(share.size), used)))[:count]
        return order[share[order] > 0.0]

    @cached_property
    def _untitled(self) -> Floats:
        """2 for items that go by their ids among others that have titles."""
        items = self.fitted.items
        untitled = False if items.labels is None else items.labels == items.ids.astype(str).astype(object)
        return np.full(len(items), 2.0) * untitled

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
        best, used = self.most if self.by_people else self.best, np.empty(0, dtype=np.int64)
        chosen: dict[int, list[int]] = {}
        for event in np.argsort(-self.likes.sum(axis=0), kind="stable").tolist():
            rows = best(event, _IN_NAME, used)
            used = np.append(used, rows)
            chosen[event] = rows.tolist()
        return chosen

    def names(self) -> list[str]:
        """Name every event by its items, or by its users, or by its number where nothing sets it apart.

        One in which nearly all items happen, or hardly any, is named so: those that stand out in it are few and little
        known. This is the one place where events get their names.
        """
        words = {event: [self._word(row) for row in rows] for event, rows in self.named_rows.items()}
        general = self._in_general
        chosen = [
            general[event] or " · ".join(words[event]) or f"event {event}" for event in range(self.fitted.n_events)
        ]
        # Titles that begin alike may be the same when they are cut.
        often = Counter(chosen)
        for event, name in enumerate(chosen):
            if often[name] > 1:
                # What this one alone has: its first item, or its number.
                own = general[event] and words[event]
                chosen[event] = f"{name} · {words[event][0]}" if own else f"{name} [{event}]"
        return chosen

    def _word(self, row: int) -> str:
        """Return what a row that names an event is called: its title, or its id where that is blank."""
        side: Vocabulary = self.fitted.users if self.by_people else self.fitted.items
        name = side.name(row)
        return shortened(name if name.strip() else str(side.ids[row]), _LONGEST)

    @cached_property
    def _in_general(self) -> list[str]:
        """What events are called in which nearly everything happens, or hardly anything; of others nothing."""
        fitted = self.fitted
        usual = float(np.mean(reaching(fitted.training.values, fitted.likes)))
        # Where only yes is recorded, nobody says it to more than a little.
        if self.by_people or usual == 1.0:
            return [""] * fitted.n_events
        verb, counts = "yes to" if fitted.training.is_binary else "likes", fitted.item_counts
        # The share of answers that are to items which happen in each event.
        extent = (self._happens * counts[:, None]).sum(axis=0) / max(int(counts.sum()), 1)
        much, little = 1.0 - extent <= _FEW * (1.0 - usual), extent <= _FEW * usual
        return np.select([much, little], [f"{verb} nearly everything", f"{verb} little"], "").tolist()  # type: ignore[no-any-return]

    @cached_property
    def _happens(self) -> NDArray[np.bool_]:
        """Which items happen in which events: of soft psi those that are a yes there; bool[n_items, D]."""
        psi = self.fitted.psi
        least = 0.5 if psi.dtype == bool or self.fitted.training.is_binary else self.fitted.likes
        found: NDArray[np.bool_] = reaching(psi, least)
        return found

    def events(self, n_items: int = 10, n_users: int = 5) -> Events:
        """Describe every event by so many items and users at most."""
        fitted, found = self.fitted, Events()
        inside = self._happens[fitted.item_seen].sum(axis=0)
        for number, name in enumerate(self.names()):
            rows = tuple(self.best(number, n_items).tolist())
            items = tuple(fitted.items.name(row) for row in rows)
            users = tuple(fitted.users.name(row) for row in self.most(number, n_users).tolist())
            share = float(fitted.population[number])
            found.append(Event(number, name, share, int(inside[number]), items, rows, users))
        return found


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


# --- attributes: what they mean for events, and what moved a prediction of somebody or something new ------------------


@dataclass(frozen=True)
class EventAttribute:
    """What an attribute means for an event; `event_attributes` of a model says what effect, low and high are."""

    event: int
    side: Side
    #: The column, and the category; in words "more Animation (genres)", "lower age".
    attribute: str
    words: str
    effect: float
    low: float
    high: float

    @property
    def is_sure(self) -> bool:
        """Whether the draws agree on its direction."""
        return self.low > 0.0 or self.high < 0.0


def event_attributes(read: Fitted) -> list[EventAttribute]:
    """Return what every attribute means for every event of a model, the largest effects of an event first."""
    found: list[EventAttribute] = []
    for side, placing in _placings(read):
        row = 0
        for column in placing.columns:
            unit = 1.0 if column.kind == "number" else 1.0 / column.scale
            for name in column.columns:
                for event, (effect, low, high) in enumerate((unit * placing.effects[:, row].T).tolist()):
                    words = _more(column, name.removeprefix(f"{column.name}: "), effect > 0.0)
                    found.append(EventAttribute(event, side, name, words, effect, low, high))
                row += 1
    return sorted(found, key=lambda one: (one.event, -abs(one.effect)))


def attribute_columns(read: Fitted, *, sure: bool) -> dict[str, list[Any]]:
    """Return `event_attributes` as columns; with `sure` those that the draws agree on."""
    found = [asdict(one) for one in event_attributes(read) if one.is_sure or not sure]
    return {name: [one[name] for one in found] for name in EventAttribute.__dataclass_fields__}


def telling_attributes(read: Fitted, most: int = 4) -> list[list[EventAttribute]]:
    """Return for every event what attributes mean for it, where the draws agree; the largest effects first.

    Of two categories that are each other's opposite one is named.
    """
    found: list[list[EventAttribute]] = [[] for _ in range(read.n_events)]
    pairs = {
        (side, name)
        for side, placing in _placings(read)
        for column in placing.columns
        if column.kind == "category" and len(column.categories) == 2
        for name in column.columns
    }
    for one in event_attributes(read):
        opposite = one.effect < 0.0 and (one.side, one.attribute) in pairs
        if one.is_sure and abs(one.effect) >= _LITTLE and not opposite and len(found[one.event]) < most:
            found[one.event].append(one)
    return found


def _placings(read: Fitted) -> list[tuple[Side, Placing]]:
    sides: list[tuple[Side, Placing | None]] = [("items", read.item_attributes), ("users", read.user_attributes)]
    return [(side, placing) for side, placing in sides if placing is not None]


def _more(column: Attribute, category: str, more: bool) -> str:
    if column.kind == "number":
        return f"{'higher' if more else 'lower'} {column.name}"
    of = f" ({column.name})" if column.categories else ""
    return f"{'more' if more else 'fewer'} {category}{of}"


@dataclass(frozen=True)
class AttributePart:
    """By how much one attribute of a new user or item moves a prediction."""

    side: Side
    #: Its column, and what it is: "War (genres)", "no other genres", "nurse (job)", "age 31".
    attribute: str
    words: str
    amount: float


@dataclass(frozen=True)
class ByAttributes:
    """A prediction of which attributes are all that is known on one side or both.

    Attributes
    ----------
    base : float
        What an average one would get.
    parts : tuple of AttributePart
        Largest difference first, up or down.
    rest : float
        What the values that items may take, the scale, or the draws change.
    """

    base: float
    parts: tuple[AttributePart, ...]
    rest: float


def by_attributes(read: Fitted, user: int, item: int, probability: float) -> ByAttributes | None:
    """Take a prediction apart by the attributes of its user and item (rows); None where both were observed.

    Where both are new, what one side changes depends on the other: it is the mean of what it changes before the other
    side's attributes are known and after.
    """
    users, items = read.user_attributes, read.item_attributes
    mine = None if users is None else users.values_of(user)
    its = None if items is None else items.values_of(item)
    if mine is None and its is None:
        return None
    theta, psi = read.theta_or_population[user], read.psi_or_average[item]
    usual_theta, usual_psi = theta, psi
    if users is not None and mine is not None:
        usual_theta, theta = users.slopes[0], users.said(mine[None])[0]
    if items is not None and its is not None:
        usual_psi, psi = items.slopes[0], items.said(its[None])[0]
    parts: list[AttributePart] = []
    if items is not None and its is not None:
        parts += _parts("items", items, its, items.slopes[1:] @ ((theta + usual_theta) / 2.0))
    if users is not None and mine is not None:
        parts += _parts("users", users, mine, users.slopes[1:] @ ((psi + usual_psi) / 2.0))
    base = float(usual_theta @ usual_psi)
    amount = sum(part.amount for part in parts)
    parts.sort(key=lambda part: -abs(part.amount))
    return ByAttributes(base, tuple(parts), probability - base - amount)


def _parts(side: Side, placing: Placing, values: Floats, effects: Floats) -> list[AttributePart]:
    """Return what each attribute changes; of one that is missing nothing is said."""
    found, first = [], 0
    for column in placing.columns:
        block = slice(first, first + len(column.columns))
        first = block.stop
        if values[block].any():
            amounts = values[block] * effects[block]
            found += [AttributePart(side, column.name, *part) for part in _worded(column, values[block], amounts)]
    return found


def _worded(column: Attribute, values: Floats, amounts: Floats) -> list[tuple[str, float]]:
    """Say what a row is by an attribute, and what that changes: of a list, each category, and all that it has not."""
    raw = values * column.scale + np.array(column.centre)
    total = float(amounts.sum())
    if column.kind == "number":
        return [(f"{column.name} {raw[0]:.4g}", total)]
    if column.kind == "boolean":
        return [(f"{'' if raw[0] > 0.5 else 'not '}{column.name}", total)]
    there = (raw > 0.5).tolist()
    has = [category for category, here in zip(column.categories, there, strict=True) if here]
    if column.kind == "category":
        return [(f"{has[0] if has else 'another'} ({column.name})", total)]
    own = [(f"{name} ({column.name})", float(amounts[column.categories.index(name)])) for name in has]
    others = f"no {'other ' if has else ''}{column.name}"
    return own if all(there) else [*own, (others, total - sum(amount for _, amount in own))]
