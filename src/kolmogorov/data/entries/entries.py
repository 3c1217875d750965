"""Entries of a table as they come in, before they are sorted; sorting them also finds duplicates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov._support.wording import advice, option
from kolmogorov.data.entries.view import View, counting_order
from kolmogorov.data.numbers.scale import ACCEPTED_WEIGHTS, outside_weight_bounds
from kolmogorov.errors import DataError

Duplicates = Literal["error", "mean", "last"]
#: Makes the error for two entries, by their positions, that are about the same pair.
Complaint = Callable[[int, int], DataError]


@dataclass(frozen=True, eq=False)
class Entries:
    """Aligned arrays, one element for each observation."""

    #: Row numbers of the side by which entries are sorted, and of the other side.
    own: NDArray[Any]
    partner: NDArray[Any]
    values: Floats
    #: Empty where every observation weighs one.
    weights: Floats

    @classmethod
    def joined(cls, parts: Iterable[Entries]) -> Entries:
        """Put entries behind each other."""
        found = list(parts)
        if len(found) == 1:
            return found[0]
        arrays = ([getattr(part, name) for part in found] for name in ("own", "partner", "values", "weights"))
        return cls(*(np.concatenate(array) for array in arrays))

    def dealt(self, heap: NDArray[Any], n_heaps: int) -> Iterator[Entries]:
        """Yield the entries of each heap, in their order; `heap` gives every entry's."""
        entries = self.taken(counting_order(heap, n_heaps))
        ends = np.cumsum(np.bincount(heap, minlength=n_heaps)).tolist()
        return (entries.taken(slice(first, last)) for first, last in zip([0, *ends[:-1]], ends, strict=True))

    def view(self, n_rows: int) -> View:
        """Return sorted entries as a view of so many rows."""
        indptr = np.concatenate(([0], np.cumsum(np.bincount(self.own, minlength=n_rows)))).astype(np.int64)
        return View(indptr, self.partner, self.values, self.weights)

    def records(self, kind: np.dtype[Any]) -> NDArray[Any]:
        """Return the entries as an array of records, whose type has a field for each array that is not empty."""
        records = np.empty(self.own.size, dtype=kind)
        for name in kind.names or ():
            records[name] = getattr(self, name)
        return records

    @classmethod
    def of_records(cls, records: NDArray[Any]) -> Entries:
        """Undo `records`; the arrays are copies."""
        own, partner, values = (records[name].copy() for name in ("own", "partner", "values"))
        weighted = "weights" in (records.dtype.names or ())
        return cls(own, partner, values, records["weights"].copy() if weighted else np.empty(0))

    def taken(self, chosen: Any) -> Entries:
        """Return the chosen entries, by mask, slice or position."""
        weights = self.weights[chosen] if self.weights.size else self.weights
        return Entries(self.own[chosen], self.partner[chosen], self.values[chosen], weights)

    def sorted(self, n_own: int, n_partner: int, duplicates: Duplicates, complain: Complaint) -> Entries:
        """Order by both sides in linear time (two stable passes), and merge duplicates or complain about the first."""
        order = counting_order(self.partner, n_partner)
        order = order[counting_order(self.own[order], n_own)]
        entries = self.taken(order)
        repeats = (entries.own[1:] == entries.own[:-1]) & (entries.partner[1:] == entries.partner[:-1])
        if not repeats.any():
            return entries
        if duplicates == "error":
            k = int(np.argmax(repeats))
            raise complain(int(order[k]), int(order[k + 1]))
        return entries._merged(repeats, duplicates)

    def _merged(self, repeats: NDArray[np.bool_], duplicates: Duplicates) -> Entries:
        first = np.concatenate(([True], ~repeats))
        if duplicates == "last":
            return self.taken(np.concatenate((~repeats, [True])))
        starts = np.flatnonzero(first)
        mass = self.weights if self.weights.size else np.ones(self.values.size)
        total = np.add.reduceat(mass, starts)
        if self.weights.size and (wrong := outside_weight_bounds(total)).any():
            raise DataError(
                f"The weights of one repeated pair add up to {total[np.argmax(wrong)]:g}; {ACCEPTED_WEIGHTS}. "
                "Make all weights smaller by the same factor."
            )
        # The mean of equal numbers may leave [0, 1] by rounding.
        mean = np.clip(np.add.reduceat(mass * self.values, starts) / total, 0.0, 1.0)
        # What came once stays as it is, to the last bit.
        alone = np.diff(np.append(starts, self.values.size)) == 1
        mean[alone] = self.values[starts[alone]]
        return Entries(self.own[first], self.partner[first], mean, total if self.weights.size else self.weights)


def duplicate(user: Any, item: Any, first: str, second: str) -> DataError:
    """Word the error for a pair that was rated in two places, whose common file is named once."""
    first = first.removeprefix(second.rpartition(", ")[0] + ", ")
    return DataError(
        f"{second}: duplicate rating of user {user!r} and item {item!r} (first at {first})."
        + advice("Pass {} or {} to merge them.", option("duplicates", "mean"), option("duplicates", "last"))
    )


def nothing_there(purpose: str) -> DataError:
    """Word the error for a table without entries."""
    return DataError(f"There are no observations {purpose}; at least one (user, item, value) is needed.")
