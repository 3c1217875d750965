"""Events: the items that set them apart, and a summary of all of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from kolmogorov._support.markup import bars, card, note
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data import Vocabulary
from kolmogorov.data.liking import reaching
from kolmogorov.descent.fitted import Fitted
from kolmogorov.interpret.plot import colour, shortened

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
        How many items happen in it: those with the event in their support. Of chances, those with a chance of at least
        one half there, or of ratings those that are a like there.
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


@dataclass(frozen=True, eq=False)
class EventItems:
    """How far each item stands out in each event.

    Examples
    --------
    >>> import kolmogorov as km
    >>> model = km.KolmogorovModel(5, random_state=0).fit(km.datasets.load("zoo"))
    >>> found = EventItems(model.fitted_)
    >>> bool(np.isclose(found.likes.sum(axis=0), found.expected.sum(axis=0)).all())
    True
    """

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

    def best(self, event: int, count: int, used: Rows | None = None) -> Rows:
        """Return the items that tell most of an event, the most telling first; those `used` come after all others.

        Where items have titles, those without come last of all: an id tells nobody anything.
        """
        score = self.score[:, event]
        last = self._untitled + (np.zeros(len(score)) if used is None else np.isin(np.arange(len(score)), used))
        order = np.lexsort((-score, last, score <= 0.0))[:count]
        return order[score[order] > 0.0]

    def most(self, event: int, count: int, used: Rows | None = None) -> Rows:
        """Return the users observed who are most in an event, the most first; those `used` come after all others.

        Examples
        --------
        >>> import kolmogorov as km
        >>> found = EventItems(km.KolmogorovModel(5, random_state=0).fit(km.datasets.load("zoo")).fitted_)
        >>> share = found.fitted.theta[:, 2]
        >>> bool(share[found.most(2, 1)[0]] == share.max())
        True
        """
        share = np.where(self.fitted.user_seen, self.fitted.theta[:, event], 0.0)
        last = np.zeros(share.size) if used is None else np.isin(np.arange(share.size), used)
        order = np.lexsort((-share, last))[:count]
        return order[share[order] > 0.0]

    @cached_property
    def by_people(self) -> bool:
        """Whether events are named by users: items' titles do not fit into a name, and users are called by words."""
        items, users = ([side.name(row) for row in range(min(len(side), _LOOKED))] for side in self._sides)
        long = [float(np.median([len(name) for name in names])) > _LONGEST for names in (items, users)]
        worded = np.mean([any(letter.isalpha() for letter in name) for name in users]) > 0.5
        return long[0] and not long[1] and bool(worded)

    @property
    def _sides(self) -> tuple[Vocabulary, Vocabulary]:
        return self.fitted.items, self.fitted.users

    @cached_property
    def _untitled(self) -> Floats:
        """2 for items that go by their ids among others that have titles."""
        items = self.fitted.items
        if items.labels is None:
            return np.zeros(len(items))
        return 2.0 * (items.labels == items.ids.astype(str).astype(object))

    @cached_property
    def happens(self) -> NDArray[np.bool_]:
        """Which items happen in which events: of chances those that are a yes there; bool[n_items, D]."""
        psi = self.fitted.psi
        least = 0.5 if psi.dtype == bool or self.fitted.training.is_binary else self.fitted.likes
        found: NDArray[np.bool_] = reaching(psi, least)
        return found

    @cached_property
    def extent(self) -> Floats:
        """The share of answers that are to items which happen in each event; float64[D]."""
        counts = self.fitted.item_counts
        return np.asarray((self.happens * counts[:, None]).sum(axis=0) / max(int(counts.sum()), 1))

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
        known.
        """
        side = self.fitted.users if self.by_people else self.fitted.items
        chosen = []
        for event in range(self.fitted.n_events):
            words = [shortened(_name(side, row), _LONGEST) for row in self.named_rows[event]]
            chosen.append(self._in_general(event) or " · ".join(words) or f"event {event}")
        # Titles that begin alike may be the same when they are cut.
        often = Counter(chosen)
        return [self._told_apart(event, name) if often[name] > 1 else name for event, name in enumerate(chosen)]

    def _in_general(self, event: int) -> str:
        """Return what an event is called in which nearly everything happens, or hardly anything; else nothing."""
        inside, usual = float(self.extent[event]), self._liked
        little, much = inside <= _FEW * usual, 1.0 - inside <= _FEW * (1.0 - usual)
        # Where only yes is recorded, nobody says it to more than a little.
        if self.by_people or usual == 1.0 or not (little or much):
            return ""
        verb = "yes to" if self.fitted.training.is_binary else "likes"
        return f"{verb} {'nearly everything' if much else 'little'}"

    @cached_property
    def _liked(self) -> float:
        """The share of all answers that are likes."""
        return float(np.mean(reaching(self.fitted.training.values, self.fitted.likes)))

    def _told_apart(self, event: int, name: str) -> str:
        """Return a name that several events have with what this one alone has: its first item, or its number."""
        if self._in_general(event) and self.named_rows[event]:
            return f"{name} · {shortened(_name(self.fitted.items, self.named_rows[event][0]), _LONGEST)}"
        return f"{name} [{event}]"

    def events(self, n_items: int = 10, n_users: int = 5) -> list[Event]:
        """Describe every event by so many items and users at most."""
        fitted, found = self.fitted, []
        inside = self.happens[fitted.item_seen].sum(axis=0)
        for number, name in enumerate(self.names()):
            rows = tuple(self.best(number, n_items).tolist())
            items = tuple(fitted.items.name(row) for row in rows)
            users = tuple(fitted.users.name(row) for row in self.most(number, n_users).tolist())
            share = float(fitted.population[number])
            found.append(Event(number, name, share, int(inside[number]), items, rows, users))
        return found


def _name(side: Vocabulary, row: int) -> str:
    """Return what a row is called: its title, or its id where that is blank."""
    name = side.name(row)
    return name if name.strip() else str(side.ids[row])


#: Events that are named: what fits on a screen. By judgement.
_NAMED = 12


def summary(name: str, fitted: Fitted, settings: str) -> str:
    """Return the events by name and share, with what they were learned from.

    Parameters
    ----------
    name : str
        Of the model's class.
    fitted : Fitted
        Of draws the one model that stands for them.
    settings : str
        How it was found, in words.
    """
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
