"""Rules judged on data: how often each was seen, how often it held, and whether that says anything."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.optional import to_frame
from kolmogorov.data import Observations, Vocabulary
from kolmogorov.errors import ParameterError
from kolmogorov.execution import Threads
from kolmogorov.kernels.contingency import fisher_greater, log_factorials
from kolmogorov.kernels.supports import tally

Rows = NDArray[np.int64]
# A normal quantile: one-sided bounds of 95%.
_ONE_SIDED = 1.6448536269514722
#: Cases at the base rate that a rule counts as having seen before, when it is ranked.
_DOUBT = 20.0
# Values come through divisions; a rating at the threshold must not fall below it by rounding.
_ROUNDING = 1e-9


def check_likes(likes: Any) -> None:
    """Raise where `likes` is no threshold on the probability scale."""
    if isinstance(likes, bool) or not isinstance(likes, numbers.Real) or not 0.0 < float(likes) <= 1.0:
        raise ParameterError(
            f"'likes' must be a number above 0 and at most 1, on the probability scale, got {likes!r}. Where "
            "p = stars / 5, 3 stars are 0.6."
        )


def says_yes(values: NDArray[np.float64], likes: float) -> NDArray[np.bool_]:
    """Tell which values, on the probability scale, mean yes."""
    return values >= likes - _ROUNDING


class Ballot:
    """Yes and no of users to a model's items, ready for counting.

    Parameters
    ----------
    items : Vocabulary
        The model's.
    observations : Observations
        Their items may be others, or in another order.
    likes : float
        Values of at least this, on the probability scale, mean yes.
    """

    def __init__(self, items: Vocabulary, observations: Observations, likes: float) -> None:
        view = observations.columns
        column = items.translate(observations.items)
        self._place = np.full(len(items), -1, dtype=np.int64)
        self._place[column[column >= 0]] = np.flatnonzero(column >= 0)
        self._indptr, self._indices = view.indptr, view.indices
        self._yes = says_yes(view.values, likes).astype(np.int8)
        self._n_users = observations.n_users
        said_yes = np.add.reduceat(np.append(self._yes, 0), view.indptr[:-1], dtype=np.int64) * (view.counts > 0)
        known = self._place >= 0
        #: How many users were observed with each item of the model, and the share of yes among them.
        self.counts = np.where(known, view.counts[self._place], 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            self.rate = np.where(known, said_yes[self._place], 0) / self.counts
        self.log_factorial = log_factorials(self._n_users + 1)

    def tables(self, left: Rows, right: Rows) -> NDArray[np.int32]:
        """Count users observed with both items: (no no, no yes, yes no, yes yes) for every pair."""
        out = np.empty((len(left), 4), dtype=np.int32)

        def work(first: int, last: int) -> None:
            mark = np.zeros(self._n_users, dtype=np.int8)
            tally(left, right, self._place, self._indptr, self._indices, self._yes, mark, first, last, out)

        with Threads() as dealer:
            dealer.deal(work, len(left), row_entries=1)
        return out


@dataclass(frozen=True, eq=False)
class Evidence:
    """Rules and how they fare on data, one entry per rule.

    A rule says: if the antecedent is so, the consequent is so; each is "yes" or "no" to an item.

    Attributes
    ----------
    items : Vocabulary
    antecedent, consequent : int64[n]
        Row numbers of the items.
    antecedent_yes, consequent_yes : bool[n]
        False means no to the item.
    kind : list of str, as an object array
    support : int64[n]
        Pairs seen: users observed with both items for whom the antecedent was so.
    held : int64[n]
        Those among them for whom the consequent was so.
    base_rate : float64[n]
        Share of all users observed with the consequent's item for whom it was so.
    raters : int64[n]
        How many users that is a share of.
    p_value : float64[n]
        One-sided Fisher test of the consequent against the antecedent, among users observed with both.
    n_judged : int
        Rules among which these were found; the p-values are corrected for all of them.
    """

    items: Vocabulary
    kind: NDArray[Any]
    antecedent: Rows
    antecedent_yes: NDArray[np.bool_]
    consequent: Rows
    consequent_yes: NDArray[np.bool_]
    support: Rows
    held: Rows
    base_rate: NDArray[np.float64]
    raters: Rows
    p_value: NDArray[np.float64]
    n_judged: int

    def __len__(self) -> int:
        return len(self.antecedent)

    @cached_property
    def confidence(self) -> NDArray[np.float64]:
        """Share of the pairs seen in which the rule held; nan where none was seen."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.held / self.support

    @cached_property
    def lift(self) -> NDArray[np.float64]:
        """Confidence over base rate."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.confidence / self.base_rate

    @cached_property
    def p_adjusted(self) -> NDArray[np.float64]:
        """The p-values times the number of rules judged (Bonferroni), at most 1.

        The chance that any rule without substance comes out below some level is at most that level, however the
        rules depend on each other.
        """
        return np.minimum(1.0, self.p_value * max(self.n_judged, 1))

    @cached_property
    def strength(self) -> NDArray[np.float64]:
        """What rules are ranked by: a cautious lift.

        The confidence counts 20 cases at the base rate besides those seen, and the base rate is replaced by its upper
        95% bound (Wilson's), so that neither few cases nor a consequent with few raters makes a rule look strong. nan
        where nothing was seen.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            confidence = (self.held + _DOUBT * self.base_rate) / (self.support + _DOUBT)
            strength = confidence / _upper_bound(self.base_rate, self.raters)
        return np.where(self.support > 0, strength, np.nan)

    def take(self, which: Any) -> Evidence:
        """Return the rules at some places."""
        arrays = {field.name: getattr(self, field.name)[which] for field in fields(self) if field.name in _COLUMNS}
        return replace(self, **arrays)

    def strongest(self, count: int | None = None) -> Evidence:
        """Return the `count` strongest rules, strongest first; ties by the items."""
        key = np.where(np.isnan(self.strength), -np.inf, self.strength)
        order = np.lexsort((self.consequent, self.antecedent, -self.support, -key))
        return self.take(order if count is None else order[:count])

    def totals(self) -> dict[str, float]:
        """Return pairs seen, and confidence, base rate and lift over all of them together."""
        seen = float(self.support.sum())
        held = float(self.held.sum())
        some = self.support > 0
        expected = float((self.support[some] * self.base_rate[some]).sum())
        return {
            "rules": float(len(self)),
            "pairs": seen,
            "confidence": held / seen if seen else float("nan"),
            "base_rate": expected / seen if seen else float("nan"),
            "lift": held / expected if expected else float("nan"),
        }

    def names(self) -> tuple[list[str], list[str]]:
        """Return antecedents and consequents in words; "no" to an item has "not" before its name."""
        return (
            _worded(self.items, self.antecedent, self.antecedent_yes),
            _worded(self.items, self.consequent, self.consequent_yes),
        )

    def columns(self) -> dict[str, Any]:
        """Return the table, column by column, with mlxtend's names where they fit."""
        antecedents, consequents = self.names()
        return {
            "kind": self.kind.tolist(),
            "antecedents": antecedents,
            "consequents": consequents,
            "support": self.support,
            "held": self.held,
            "confidence": self.confidence,
            "base_rate": self.base_rate,
            "lift": self.lift,
            "strength": self.strength,
            "p_value": self.p_value,
            "p_adjusted": self.p_adjusted,
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the rules as a data frame, one row each."""
        return to_frame(self.columns(), backend)


_COLUMNS = tuple(field.name for field in fields(Evidence) if field.name not in ("items", "n_judged"))


def judged(
    ballot: Ballot, items: Vocabulary, kind: str, left: Rows, right: Rows, left_yes: bool, right_yes: bool
) -> Evidence:
    """Count the rules "if left is so, right is so" on a ballot."""
    return from_tables(ballot, items, kind, left, right, ballot.tables(left, right), left_yes, right_yes)


def from_tables(
    ballot: Ballot,
    items: Vocabulary,
    kind: str,
    left: Rows,
    right: Rows,
    tables: NDArray[np.int32],
    left_yes: bool,
    right_yes: bool,
) -> Evidence:
    """Judge the rules "if left is so, right is so" by counts of (no no, no yes, yes no, yes yes)."""
    square = tables.reshape(-1, 2, 2)
    square = square[:, :: 1 if left_yes else -1, :: 1 if right_yes else -1]
    turned = np.ascontiguousarray(square).reshape(-1, 4)
    p_value = np.empty(len(left))
    fisher_greater(turned, ballot.log_factorial, p_value)
    rate = ballot.rate[right]
    n = len(left)
    return Evidence(
        items=items,
        kind=np.full(n, kind, dtype=object),
        antecedent=left,
        antecedent_yes=np.full(n, left_yes),
        consequent=right,
        consequent_yes=np.full(n, right_yes),
        support=turned[:, 2].astype(np.int64) + turned[:, 3],
        held=turned[:, 3].astype(np.int64),
        base_rate=rate if right_yes else 1.0 - rate,
        raters=ballot.counts[right],
        p_value=p_value,
        n_judged=n,
    )


def joined(parts: list[Evidence], items: Vocabulary) -> Evidence:
    """Put several lists of rules into one."""
    if not parts:
        nothing = np.empty(0, dtype=np.int64)
        no, none = nothing.astype(bool), nothing.astype(np.float64)
        kind = nothing.astype(object)
        return Evidence(items, kind, nothing, no, nothing, no, nothing, nothing, none, nothing, none, 0)
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS}
    return Evidence(items=items, n_judged=sum(part.n_judged for part in parts), **arrays)


def _upper_bound(rate: NDArray[np.float64], count: Rows) -> NDArray[np.float64]:
    """Return Wilson's one-sided 95% upper bound of a rate."""
    z = _ONE_SIDED
    spread = z * np.sqrt(rate * (1 - rate) / count + z * z / (4.0 * count * count))
    bound: NDArray[np.float64] = (rate + z * z / (2.0 * count) + spread) / (1 + z * z / count)
    return bound


def _worded(items: Vocabulary, rows: Rows, yes: NDArray[np.bool_]) -> list[str]:
    return [items.name(row) if so else f"not {items.name(row)}" for row, so in zip(rows, yes, strict=True)]
