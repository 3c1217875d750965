"""What an item consists of: parts that are computed and stored, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

REPRODUCED, NOT_REPRODUCED, CONTRADICTED = "reproduced", "not reproduced", "contradicted"


@dataclass(frozen=True)
class Effort:
    """How much to compute.

    Attributes
    ----------
    quick : bool
        Few repetitions: minutes for everything on two processors.
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
    """

    key: str
    compute: Callable[[], Any]
    needs: str | None = None


@dataclass(frozen=True)
class Claim:
    """Something the paper says or prints, and what was found.

    Attributes
    ----------
    where : str
        Table, figure or section.
    says : str
        The paper's claim.
    found : str
        What we measure.
    verdict : str
        "reproduced", "not reproduced" (we do not find it) or "contradicted" (we find the opposite).
    """

    where: str
    says: str
    found: str
    verdict: str


def verdict(agrees: bool, opposite: bool = False) -> str:
    """Return the word for a claim that the numbers agree with, contradict, or do neither."""
    return REPRODUCED if agrees else CONTRADICTED if opposite else NOT_REPRODUCED


@dataclass(frozen=True)
class Panel:
    """One plot: lines (or points) by label, each a pair of sequences.

    `bands` holds (low, high) for lines that have a spread; `dashed` are the labels of what the paper prints.
    """

    title: str
    x_label: str
    y_label: str
    lines: dict[str, tuple[list[Any], list[float]]]
    log_y: bool = False
    bars: bool = False
    bands: dict[str, tuple[list[float], list[float]]] = field(default_factory=dict)
    dashed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """An item said: a table, plots, claims with verdicts, and sentences, all computed from stored parts.

    Attributes
    ----------
    title : str
    rows : list of dict
        The table; also the CSV.
    panels : list of Panel
        Drawn side by side.
    claims : list of Claim
    sentences : list of str
        What else the numbers say.
    shown : bool
        Whether the document holds the whole table.
    """

    title: str
    rows: list[dict[str, Any]]
    panels: list[Panel] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    shown: bool = True


def one_of(values: Iterable[Any]) -> str:
    """Join values for a sentence."""
    return ", ".join(str(value) for value in values)
