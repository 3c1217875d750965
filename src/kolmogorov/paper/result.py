"""What an item consists of: parts that are computed and stored, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from kolmogorov.paper.claims import Claim

Lines = dict[str, tuple[list[Any], list[float]]]
#: Labels of what the paper prints begin so; it is drawn dashed, in the colour of what we measured.
PAPER = "paper: "
#: Processors for a part that is timed, of which it keeps one busy.
_APART = 4


@dataclass(frozen=True)
class Effort:
    """How much to compute.

    Attributes
    ----------
    quick : bool
        Few repetitions: four minutes for everything on two processors.
    """

    quick: bool

    def pick(self, quick: Any, full: Any) -> Any:
        """Return the value for this effort."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Part:
    """A computation that is stored under its key; items that need the same part share it.

    Attributes
    ----------
    key : str
        Says all that the outcome depends on; also the name of the file.
    compute : callable
        Returns numbers, texts, lists and dictionaries.
    needs : str or None
        A module without which the part is left out.
    cost : float
        Seconds on one processor, roughly; long parts begin first.
    slots : int
        Processors that it keeps busy.
    timed : bool
        Whether seconds are what it finds. Such parts come after all others, a few beside each other.
    """

    key: str
    compute: Callable[[], Any]
    needs: str | None = None
    cost: float = 1.0
    slots: int = 1
    timed: bool = False

    def room(self, jobs: int) -> int:
        """Return how many of so many processors it keeps busy, or free of others so that its times are good."""
        return min(_APART if self.timed else self.slots, jobs)


@dataclass(frozen=True)
class Panel:
    """One plot: lines (or points) by label, each a pair of sequences.

    Attributes
    ----------
    bands : dict
        (low, high) of lines that have a spread.
    pale : tuple of str
        Lines drawn wide and pale, so that another on top of them leaves them visible.
    points : tuple of str
        Lines of which only the points are drawn.
    kin : dict
        Labels that share the colour of another one.
    levels, stops : dict
        Horizontal and vertical lines by label.
    """

    title: str
    x_label: str
    y_label: str
    lines: Lines
    log_y: bool = False
    log_x: bool = False
    from_zero: bool = False
    bars: bool = False
    bands: dict[str, tuple[list[float], list[float]]] = field(default_factory=dict)
    pale: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    kin: dict[str, str] = field(default_factory=dict)
    levels: dict[str, float] = field(default_factory=dict)
    stops: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """An item said: a table, plots, claims with verdicts, and sentences, all computed from stored parts.

    Attributes
    ----------
    title : str
    rows : list of dict
        The numbers; also the CSV.
    panels : list of Panel
        Drawn side by side.
    claims : list of Claim
    sentences : list of str
        What else the numbers say.
    table : list of dict or None
        What the document shows; None is all rows, and an empty list none of them.
    """

    title: str
    rows: list[dict[str, Any]]
    panels: list[Panel] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    table: list[dict[str, Any]] | None = None

    @property
    def shown(self) -> list[dict[str, Any]]:
        """The rows that the document shows."""
        return self.rows if self.table is None else self.table


def listed(values: Iterable[Any], form: str = "") -> str:
    """Join values for a sentence."""
    return ", ".join(format(value, form) for value in values)


def plain(value: float) -> str:
    """Write a positive number with two digits, or all that stand before the point."""
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.2g}"


def percent(share: float) -> str:
    """Write a relative difference with its sign; none is +0.0%."""
    return f"{round(100 * share, 1) + 0.0:+.1f}%"


def between(values: Iterable[float], write: Callable[[float], str] = plain) -> str:
    """Write the smallest and the largest of some numbers, or the one that all are."""
    low, high = write(min(kept := list(values))), write(max(kept))
    return low if low == high else f"{low} to {high}"


def added(lines: Lines, label: str, x: Any, y: float | None) -> None:
    """Add a point to a line of a panel; none where there is no number."""
    if y is not None:
        xs, ys = lines.setdefault(label, ([], []))
        xs.append(x)
        ys.append(y)
