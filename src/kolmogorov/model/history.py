"""One record per sweep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any


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

    def keys(self) -> Iterator[str]:
        """Iterate over the names of the fields."""
        return (field.name for field in fields(self))

    def __getitem__(self, name: str) -> Any:
        try:
            return asdict(self)[name]
        except KeyError:
            raise KeyError(f"A sweep has {', '.join(self.keys())}; got {name!r}.") from None
