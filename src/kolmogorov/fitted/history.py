"""One record per sweep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.invariants import check_array, check_finite
from kolmogorov.errors import InvariantError

#: Of an error or a time; its square is a number still.
_LARGEST = 1e100


@dataclass(frozen=True)
class Sweep:
    """What a sweep reached and what it cost. Fields are attributes and items: `s.rmse` and `s["rmse"]`.

    Attributes
    ----------
    sweep : int
        Counted from 1.
    objective : float
        Weighted squared error on the training entries plus the two ridge terms.
    rmse : float
        Training error on the probability scale.
    user_seconds, item_seconds : float
        Of the two half-steps.
    """

    sweep: int
    objective: float
    rmse: float
    user_seconds: float
    item_seconds: float

    def validate(self) -> None:
        """Raise `InvariantError` where the record is none; for records that come from a file."""
        counted = type(self.sweep) is int and self.sweep >= 1
        numbers = [getattr(self, name) for name in self.keys() if name != "sweep"]
        if not counted or not all(type(n) is float and 0.0 <= n <= _LARGEST for n in numbers):
            raise InvariantError(f"a record of a sweep must hold a count and numbers from 0 to {_LARGEST:g}")

    def keys(self) -> Iterator[str]:
        """Iterate over the names of the fields."""
        return (field.name for field in fields(self))

    def __getitem__(self, name: str) -> Any:
        try:
            return asdict(self)[name]
        except KeyError:
            raise KeyError(f"A sweep has {', '.join(self.keys())}; got {name!r}.") from None


def history_array(history: tuple[Sweep, ...]) -> NDArray[np.float64]:
    """Return the records as rows of numbers, for a file."""
    return np.array([astuple(sweep) for sweep in history], dtype=np.float64).reshape(-1, len(fields(Sweep)))


def history_of(table: NDArray[Any]) -> tuple[Sweep, ...]:
    """Undo `history_array`; what is no history is an `InvariantError`."""
    check_array("the history", table, np.float64, (None, len(fields(Sweep))))
    check_finite("the history", table)
    history = tuple(Sweep(int(row[0]), *row[1:]) for row in table.tolist())
    for number, sweep in enumerate(history, start=1):
        sweep.validate()
        if sweep.sweep != number:
            raise InvariantError("the sweeps of the history are not numbered from 1")
    return history
