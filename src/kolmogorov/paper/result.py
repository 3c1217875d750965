"""What an item consists of: a table, plots, and sentences computed from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Effort:
    """How much to compute.

    Attributes
    ----------
    quick : bool
        Few repetitions: minutes for everything on two processors.
    say : callable
        Told what is being done.
    """

    quick: bool
    say: Callable[[str], None] = lambda message: None

    def pick(self, quick: Any, full: Any) -> Any:
        """Return the value for this effort."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Panel:
    """One plot: lines (or points) by label, each a pair of sequences."""

    title: str
    x_label: str
    y_label: str
    lines: dict[str, tuple[list[Any], list[float]]]
    log_y: bool = False
    bars: bool = False


@dataclass(frozen=True)
class Result:
    """An item computed.

    Attributes
    ----------
    title : str
    columns : dict
        The table, column by column; also the CSV.
    panels : list of Panel
        Drawn side by side.
    sentences : list of str
        What agrees with the paper and what does not, computed from the numbers.
    seeds : list of int
        Of all that was drawn: data, splits, starting points.
    """

    title: str
    columns: dict[str, list[Any]]
    panels: list[Panel] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    seeds: list[int] = field(default_factory=lambda: [0])
