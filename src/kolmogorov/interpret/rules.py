"""Rules between items: counted on data, said in sentences, and listed."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from kolmogorov._support.display import card, shown, table
from kolmogorov._support.outside import to_frame
from kolmogorov._support.typing import Floats, Rows
from kolmogorov._support.validation import Requirement, check_parameters
from kolmogorov.data import Observations, Scale, Vocabulary
from kolmogorov.data.observations import least_like, reaching
from kolmogorov.descent.fitted import Trained
from kolmogorov.errors import DataError, UnknownIdError
from kolmogorov.interpret.readiness import Readiness
from kolmogorov.models.ids import id_of

#: What each kind of rule says of its two sides: (yes to the first, yes to the second).
SAYS = {"implication": (True, True), "exclusion": (True, False), "coverage": (False, True)}
KINDS, FLAGS = np.array(list(SAYS), dtype=object), np.array(list(SAYS.values()))
#: The most antecedents of a rule.
MOST_ANTECEDENTS = 3
#: A normal quantile: one-sided bounds of 95%.
_ONE_SIDED = 1.6448536269514722
#: Rules that are shown when many are printed, and in a summary. By judgement.
_PRINTED, _SUMMARY = 20, 3
#: Fewer cases than these on other data say nothing.
_TELLING = 20
#: Cells of a table that is filled to count in it, at most: some hundred megabytes; and bytes of users, a bit for each,
#: that are counted at once. By judgement.
_MOST_CELLS, _BLOCK = 20_000_000, 1 << 24
#: The least value that means yes.
THRESHOLD = Requirement(
    "a threshold such as 0.8 (4 of 5 stars), above 0 and at most 1, on the probability scale",
    lambda value: isinstance(value, numbers.Real) and not isinstance(value, bool) and 0.0 < float(value) <= 1.0,
)


def check_likes(owner: str, likes: Any) -> None:
    """Raise where `likes` is no threshold on the probability scale."""
    check_parameters(owner, {"likes": likes}, {"likes": THRESHOLD})


# --- counting ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Terms:
    """What rules are counted on: items and scale, and from which value on, on the probability scale, a yes.

    `rated` is whether there is more than yes and no, and a yes is a like. `source` is the data in words. `only_yes` is
    the training data, where only yes is recorded in them: in whatever rules are counted on a blank is then a no, unless
    the training data have a yes there.
    """

    items: Vocabulary
    scale: Scale
    likes: float
    rated: bool = False
    source: str = ""
    only_yes: Observations | None = None

    @classmethod
    def of(cls, training: Observations, likes: float | None = None, items: Vocabulary | None = None) -> Terms:
        """Return the terms of rules that are learned from some data."""
        only_yes = training if bool((training.values == 1.0).all()) else None
        likes = least_like(training) if likes is None else likes
        return cls(items or training.items, training.scale, likes, not training.is_binary, only_yes=only_yes)

    def counting(self, observations: Observations, source: str = "") -> Counting:
        """Count on some observations; where only yes is recorded, their blanks are noes."""
        if not isinstance(observations, Observations):
            raise DataError(f"Rules are counted on Observations, got {type(observations).__name__}.")
        if len(observations) == 0:
            raise DataError("There is nothing to count rules on: the observations are empty.")
        source = source or f"{len(observations):,} observations"
        filled = self.only_yes is not None and observations.n_users * len(self.items) <= _MOST_CELLS
        return Counting(
            observations, replace(self, source=f"{source}, where a blank is a no" if filled else source), filled
        )

    @cached_property
    def names(self) -> list[str]:
        """What each item is called: its title, and its id beside it where several have that title."""
        if self.items.labels is None:
            return list(map(str, self.items.ids.tolist()))
        _, which, number = np.unique(self.items.labels.astype(str), return_inverse=True, return_counts=True)
        rows = zip(self.items.labels.tolist(), self.items.ids.tolist(), (number[which] > 1).tolist(), strict=True)
        return [f"{title} [{own}]" if several else title for title, own, several in rows]


class Counting:
    """Observations in which rules between the items of a model are counted.

    `answers` says how many users were observed with each item, `rates`, float64[n_items], which share of them likes it.
    """

    def __init__(self, observations: Observations, terms: Terms, filled: bool = False) -> None:
        self.terms = terms
        rescaled = observations.rescaled(terms.scale)
        rows, place = rescaled.rows, terms.items.translate(observations.items)
        items = place[rows.indices]
        answers = np.where(items >= 0, 1 + reaching(rows.values, terms.likes), 0).astype(np.int8)
        shape = (observations.n_users, len(terms.items))
        #: 1 where the answer was no, and 2 where it was yes.
        self.table = csr_array((answers, np.maximum(items, 0), rows.indptr.copy()), shape=shape)
        self.table.eliminate_zeros()
        self.table.sort_indices()
        if filled and terms.only_yes is not None:
            self.table = with_noes(self.table, observations, terms.only_yes)
        self._turned: csr_array = self.table.T.tocsr()
        self.n_users = int((np.diff(self.table.indptr) > 0).sum())
        self.answers = np.diff(self._turned.indptr)
        likers = np.bincount(self.table.indices[self.table.data == 2], minlength=shape[1])
        with np.errstate(invalid="ignore", divide="ignore"):
            self.rates: Floats = likers / self.answers

    @classmethod
    def for_model(cls, trained: Trained, observations: Observations | None, likes: float) -> Counting:
        """Count in some observations, or in those that a model was trained on: prepared once and kept with it."""
        terms = Terms.of(trained.training, likes, trained.items)
        if observations is not None:
            return terms.counting(observations)
        known, counting = trained.kept.get("counting", (None, None))
        if known != likes:
            counting = terms.counting(trained.training, "the training data")
            trained.kept["counting"] = likes, counting
        found: Counting = counting
        return found

    @cached_property
    def readiness(self) -> Readiness:
        """How readily each user says yes, and each item is said yes to; made at first use."""
        return Readiness(self.table)

    def counts(self, code: Rows, sides: Rows, ends: Rows) -> dict[str, Any]:
        """Count rules, columns of `Rules`: cases, those in which the rule held, and how often it does for everybody."""
        items, place = np.unique(np.column_stack([sides, ends]), return_inverse=True)
        place = place.reshape(len(ends), sides.shape[1] + 1)
        seen, yes = self._bits(items)
        support, held = np.zeros((2, len(ends)), dtype=np.int64)
        step = max(1, _BLOCK // seen.shape[1])
        for first in range(0, len(ends), step):
            some = slice(first, first + step)
            left, right = (flag[:, None] for flag in FLAGS[code[some]].T)
            met = seen[place[some, -1]]
            for one, there in zip(place[some, :-1].T, sides[some].T >= 0, strict=True):
                met[there] &= np.where(left, yes[one], seen[one] & ~yes[one])[there]
            said = yes[place[some, -1]]
            support[some] = np.bitwise_count(met).sum(axis=1, dtype=np.int64)
            held[some] = np.bitwise_count(met & np.where(right, said, ~said)).sum(axis=1, dtype=np.int64)
        rate = self.rates[ends]
        return {"support": support, "held": held, "base_rate": np.where(FLAGS[code, 1], rate, 1.0 - rate)}

    def _bits(self, items: Rows) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return who answered some items, and who said yes, a bit for each user."""
        seen, yes = np.empty((2, len(items), -(-self.table.shape[0] // 8)), dtype=np.uint8)
        step = max(1, _BLOCK // self.table.shape[0])
        for first in range(0, len(items), step):
            answers = self._turned[items[first : first + step]].toarray()
            seen[first : first + step], yes[first : first + step] = np.packbits([answers > 0, answers > 1], axis=2)
        return seen, yes


def with_noes(table: csr_array, observations: Observations, training: Observations) -> csr_array:
    """Return a table with its blanks as noes.

    Users without any yes in the table are left out: nobody knows that they were asked. So are blanks for which the
    training data have a yes.

    Examples
    --------
    >>> yes = Observations.from_arrays(["ann", "ann", "bob"], ["tea", "rum", "rum"], [1, 1, 1])
    >>> Terms.of(yes).counting(yes.subset(yes.user_rows() == 1)).table.toarray().tolist()
    [[0, 0], [2, 1]]
    >>> Terms.of(yes).counting(yes.subset(np.array([True, False, False]))).table.toarray().tolist()
    [[2, 0], [0, 0]]
    """
    filled = table.toarray()
    blank = (filled == 0) & (filled != 0).any(axis=1, keepdims=True)
    users = observations.users.translate(training.users)[training.user_rows()]
    blank[users[users >= 0], training.item_rows()[users >= 0]] = False
    filled[blank] = 1
    return csr_array(filled)


# --- rules ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule, and what it is in words: if the antecedent is so, the consequent is so. `Rules` says what numbers mean.

    Several antecedents are joined by "and". `rated` is whether a yes is a like.

    Examples
    --------
    >>> print(Rule(kind="implication", antecedent="milk", consequent="backbone", support=31, held=31, base_rate=0.83))
    Who says yes to milk says yes to backbone: 31 of 31; of everybody 83%.
    """

    kind: str
    antecedent: str
    consequent: str
    support: int
    held: int
    base_rate: float
    model_lift: float | None = None
    p_adjusted: float | None = None
    rated: bool = False

    @property
    def confidence(self) -> float:
        """Share of the cases seen in which the rule held; nan where none was seen."""
        return self.held / self.support if self.support else float("nan")

    @property
    def lift(self) -> float:
        """Confidence over base rate."""
        return self.confidence / self.base_rate if self.base_rate else float("nan")

    @property
    def reasons(self) -> str:
        """Why it is believed: how much oftener the model has it than for everybody, and how sure the data are."""
        model = [] if self.model_lift is None else [f"the model: {self.model_lift:.2f} times as often"]
        return "; ".join(model + ([] if self.p_adjusted is None else [f"the data: p = {self.p_adjusted:.1g}"]))

    def __str__(self) -> str:
        yes, no = ("likes", "does not like") if self.rated else ("says yes to", "says no to")
        first, then = (yes if so else no for so in SAYS[self.kind])
        met = f"{self.held:,} of {self.support:,}" if self.support else "not met"
        usual = f"; of everybody {self.base_rate:.0%}" if self.base_rate == self.base_rate else ""
        return f"Who {first} {shown(self.antecedent)} {then} {shown(self.consequent)}: {met}{usual}."


@dataclass(frozen=True, eq=False, repr=False)
class Rules(Sequence[Rule]):
    """Rules and how they fare on data: a sequence of `Rule`, held as columns.

    Made by `model.rules()` and `associations(table)`. ``rules[0]`` is one rule; slices, masks and lists of places give
    `Rules`.

    Attributes
    ----------
    antecedents : int64[n, 3]
        Row numbers of the items, -1 where there are fewer than three.
    consequent : int64[n]
    support, held : int64[n]
        Users observed with all items for whom the antecedents were so, and those of them for whom the consequent was.
    base_rate : float64[n]
        Share of all users observed with the consequent's item for whom it was so.
    model_lift : float64[n]
        How many times as often as for everybody the model has the consequent where the antecedents are so; nan where
        none was asked.
    p_adjusted : float64[n]
        From the data in which the rules were found: a one-sided test of whether the items go together, or apart, more
        than the readiness of these very users to say yes explains, corrected for all that was tested (Benjamini and
        Hochberg); nan of what was not tested.
    n_judged, n_longer : int
        What was tested to find these: pairs of items, and what one more antecedent adds to rules.

    Examples
    --------
    >>> import kolmogorov as km
    >>> train, test = km.datasets.load("zoo").split(test_size=0.2, random_state=0)
    >>> rules = km.associations(train)
    >>> print(rules[0])
    Who says yes to fins says yes to aquatic: 13 of 13; of everybody 38%.
    >>> len(rules.on(test)) == len(rules), rules.on(test)[0].antecedent
    (True, 'fins')
    """

    terms: Terms
    code: Rows
    antecedents: Rows
    consequent: Rows
    support: Rows
    held: Rows
    base_rate: Floats
    model_lift: Floats
    p_adjusted: Floats
    n_judged: int = 0
    n_longer: int = 0

    @classmethod
    def counted(
        cls, counting: Counting, code: Any, antecedents: Rows, ends: Rows, lift: Any = np.nan, p: Any = np.nan
    ) -> Rules:
        """Count rules, of kinds by number; antecedents are int64[n, m], -1 where there are fewer."""
        n, sides = len(ends), np.full((len(ends), MOST_ANTECEDENTS), -1)
        sides[:, : antecedents.shape[1]] = antecedents
        code, lift, p = (np.broadcast_to(column, n) for column in (code, lift, p))
        return cls(
            counting.terms, code, sides, ends, **counting.counts(code, sides, ends), model_lift=lift, p_adjusted=p
        )

    def on(self, observations: Observations) -> Rules:
        """Count the same rules, in the same order, on other observations.

        These are best such that neither the model nor the choice of the rules has seen. Where the training data record
        only yes, a blank is a no.
        """
        return self.recounted(self.terms.counting(observations))

    def recounted(self, counting: Counting) -> Rules:
        """Count the same rules, in the same order, on other data."""
        return replace(self, terms=counting.terms, **counting.counts(self.code, self.antecedents, self.consequent))

    @property
    def kind(self) -> NDArray[Any]:
        """What rules say: "implication", yes follows from yes; "exclusion", no from yes; "coverage", yes from no."""
        return KINDS[self.code]

    @property
    def antecedent(self) -> Rows:
        """The first antecedents."""
        return self.antecedents[:, 0]

    def about(self, item: Any) -> Rules:
        """Return the rules about an item, given by its id or title."""
        row = int(self.terms.items.encode([id_of(self.terms.items, item, "item")], "item")[0])
        if row < 0:
            raise UnknownIdError(f"The model has no item {item!r}.{self.terms.items.suggestion(item)}")
        return self[(self.antecedents == row).any(axis=1) | (self.consequent == row)]

    def basis(self) -> Rules:
        """Return a short list from which the other rules follow.

        A rule follows if rules that are kept lead from its antecedents to its consequent, each of which held at least
        as often as it did. No rule of the list follows from the others. (Formal concept analysis calls that a basis of
        implications. Where rules have no exceptions neither has what follows.)

        Examples
        --------
        >>> import kolmogorov as km
        >>> rules = km.associations(km.datasets.load("zoo"), max_antecedents=2)
        >>> len(rules) > len(rules.basis())
        True
        """
        yes = FLAGS[self.code]
        sides = zip(self.antecedents.tolist(), yes[:, 0].tolist(), strict=True)
        left = [[2 * item + so for item in row if item >= 0] for row, so in sides]
        right = 2 * self.consequent + yes[:, 1]
        return self[basis_of(left, right.tolist(), np.nan_to_num(self.confidence))]

    @cached_property
    def confidence(self) -> Floats:
        """Share of the cases in which the rule held; nan where none was seen."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.held / self.support

    @cached_property
    def lift(self) -> Floats:
        """Confidence over base rate."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.confidence / self.base_rate

    @cached_property
    def strength(self) -> Floats:
        """What rules are ranked by: how much oftener than the base rate they hold at least.

        It is the lower 95% bound (Wilson's) of the confidence less the base rate; nan where nothing was seen.
        """
        rate, count, z = self.confidence, self.support, _ONE_SIDED
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = z * np.sqrt(rate * (1 - rate) / count + z * z / (4.0 * count * count))
            return (rate + z * z / (2.0 * count) - spread) / (1 + z * z / count) - self.base_rate

    def __len__(self) -> int:
        return len(self.consequent)

    @overload
    def __getitem__(self, which: int) -> Rule: ...
    @overload
    def __getitem__(self, which: Any) -> Rules: ...
    def __getitem__(self, which: Any) -> Rule | Rules:
        if not isinstance(which, (int, np.integer)):
            return replace(self, **{name: column[which] for name, column in _columns(self).items()})
        if not -len(self) <= which < len(self):
            raise IndexError(f"There are {len(self):,} rules, and none at place {which}.")
        return next(iter(self[[which]]))

    def __iter__(self) -> Iterator[Rule]:
        names = ("kind", "support", "held", "base_rate", "model_lift", "p_adjusted")
        rows = zip(*(getattr(self, name).tolist() for name in names), strict=True)
        for left, right, (*facts, lift, p) in zip(*self.names(), rows, strict=True):
            own = dict(zip(names, [*facts, *(None if x != x else x for x in (lift, p))], strict=True))
            yield Rule(antecedent=left, consequent=right, rated=self.terms.rated, **own)

    def strongest(self, count: int | None = None) -> Rules:
        """Return the `count` strongest rules, strongest first; ties by the items."""
        key = np.where(np.isnan(self.strength), -np.inf, self.strength)
        return self[np.lexsort((self.consequent, self.antecedent, -self.support, -key))[:count]]

    def totals(self) -> dict[str, float]:
        """Return pairs seen, and confidence, base rate and lift over all of them together."""
        seen, held, some = self.support.sum(), self.held.sum(), self.support > 0
        expected = (self.support[some] * self.base_rate[some]).sum()
        with np.errstate(invalid="ignore", divide="ignore"):
            found = {"confidence": held / seen, "base_rate": expected / seen, "lift": held / expected}
        return {"rules": float(len(self)), "pairs": float(seen)} | {name: float(x) for name, x in found.items()}

    def names(self) -> tuple[list[str], list[str]]:
        """Return the items' names: antecedents, of which several are joined by "and", and consequents."""
        name = self.terms.names
        left = [" and ".join(name[item] for item in row if item >= 0) for row in self.antecedents.tolist()]
        return left, [name[item] for item in self.consequent.tolist()]

    def columns(self) -> dict[str, Any]:
        """Return the table, column by column, with mlxtend's names where they fit."""
        sides = zip(("antecedents", "consequents"), self.names(), FLAGS[self.code].T.tolist(), strict=True)
        columns: dict[str, Any] = {"kind": self.kind.tolist()}
        for side, words, yes in sides:
            columns[side] = [word if so else f"not {word}" for word, so in zip(words, yes, strict=True)]
        numbers = ("support", "held", "confidence", "base_rate", "lift", "strength", "model_lift", "p_adjusted")
        columns |= {name: getattr(self, name) for name in numbers}
        like = np.full(len(self), self.terms.scale.rating(self.terms.likes))
        return columns | ({"like_at_least": like} if self.terms.rated else {})

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the rules as a data frame: of "pandas", "polars" or "pyarrow", or the first of them there is."""
        return to_frame(self.columns(), backend)

    def sentences(self, test: Rules | None = None) -> list[str]:
        """Return the rules in words; with the same rules counted on other data, what held there of 20 cases or more."""
        said = [str(rule) for rule in self]
        for k, rule in enumerate(() if test is None else test):
            if rule.support >= _TELLING:
                said[k] = f"{said[k][:-1]}; held out {rule.held:,} of {rule.support:,}."
        return said

    def __str__(self) -> str:
        return "\n".join(self._told(_PRINTED, "")) if len(self) else self.none

    def _told(self, count: int, indent: str) -> list[str]:
        more = [f"and {len(self) - count:,} more"] if len(self) > count else []
        return [indent + line for line in self[:count].sentences() + more]

    @property
    def looked_at(self) -> str:
        """What was tested to find the rules, in words."""
        longer = f", and {self.n_longer:,} times what one more antecedent adds" if self.n_longer else ""
        return f"{self.n_judged:,} pair{'' if self.n_judged == 1 else 's'} of items{longer}"

    @property
    def none(self) -> str:
        """What to say where there are no rules."""
        return f"No rule. {self.looked_at} had enough answers to be tested."

    @property
    def title(self) -> str:
        """How many rules there are, on what they were counted, and what a like is."""
        like = f"; to like is at least {self.terms.scale.rating(self.terms.likes):.6g}" if self.terms.rated else ""
        return f"{len(self):,} rule{'' if len(self) == 1 else 's'}, counted on {self.terms.source}{like}"

    def __repr__(self) -> str:
        if not len(self):
            return f"<{self.none}>"
        return "\n".join([f"<{self.title}>", *self.strongest()._told(_SUMMARY, "  ")])

    def _repr_html_(self) -> str:
        some = self[:_PRINTED]
        columns = {"rule": some.sentences(), "why": [rule.reasons for rule in some]}
        return card(self.title, table(columns, more=len(self) - _PRINTED))


def joined(parts: Sequence[Rules]) -> Rules:
    """Put several lists of rules, counted on the same data, into one."""
    columns = [_columns(part) for part in parts]
    whole: dict[str, Any] = {name: np.concatenate([part[name] for part in columns]) for name in columns[0]}
    return replace(parts[0], **whole)


def _columns(rules: Rules) -> dict[str, NDArray[Any]]:
    values = {field.name: getattr(rules, field.name) for field in fields(rules)}
    return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


def basis_of(antecedents: Sequence[Sequence[int]], consequents: Sequence[int], confidence: Floats) -> Rows:
    """Return the places of rules between statements (by number), in their order, from which the others follow.

    They follow only from rules that have at least their confidence.

    Examples
    --------
    >>> basis_of([[0], [1], [0], [0, 3]], [1, 2, 2, 2], np.array([0.9, 0.9, 0.8, 0.95])).tolist()
    [0, 1, 3]
    """
    begin: dict[int, list[int]] = {}
    kept = np.zeros(len(consequents), dtype=bool)

    def leads(rule: int, least: float) -> bool:
        """Tell whether other rules that were kept, and are sure enough, lead where a rule does."""
        goal, known = consequents[rule], set(antecedents[rule])
        waiting, missing = list(known), dict[int, int]()
        while waiting:
            for other in begin.get(waiting.pop(), ()):
                if other == rule or not kept[other] or confidence[other] < least:
                    continue
                missing[other] = missing.get(other, len(antecedents[other])) - 1
                end = consequents[other]
                if missing[other] == 0 and end not in known:
                    if end == goal:
                        return True
                    known.add(end)
                    waiting.append(end)
        return False

    # The surest first, and of equally sure ones those that ask for less.
    order = sorted(range(len(consequents)), key=lambda r: (-confidence[r], len(antecedents[r]), r))
    for rule in order:
        if not leads(rule, 0.0):
            kept[rule] = True
            for statement in antecedents[rule]:
                begin.setdefault(statement, []).append(rule)
    # Of equally sure rules one may follow from others that came later.
    for rule in reversed(order):
        if kept[rule] and leads(rule, float(confidence[rule])):
            kept[rule] = False
    return np.flatnonzero(kept)
