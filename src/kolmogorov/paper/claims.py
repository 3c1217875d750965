"""A claim of the paper: what it says, how we read it, what we find, and one rule for the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

#: The rule for all items. Errors are the same within this share, or two standard deviations of a start if that is more.
SAME = 0.02
#: Shares in percent are the same within so many points.
POINTS = 5.0
#: Times, counts of work, and their ratios are the same within this factor; they depend on machine and implementation.
FACTOR = 2.0
#: Up to this share of something else a thing is negligible.
NEGLIGIBLE = 0.1
RULE = (
    f"errors are the same within {100 * SAME:g}%, or within two standard deviations of a start where that is more; "
    f"shares within {POINTS:g} points; times, counts of work and their ratios within a factor of {FACTOR:g}; and up to "
    f"a tenth of something is negligible beside it"
)


def same_error(ours: float, other: float, sd: float = 0.0) -> bool:
    """Tell whether two errors are the same."""
    return abs(ours - other) <= max(SAME * abs(other), 2.0 * sd)


def same_share(ours: float, other: float) -> bool:
    """Tell whether two shares in percent are the same."""
    return abs(ours - other) <= POINTS


def same_times(ours: float, other: float) -> bool:
    """Tell whether two times, counts of work or ratios of them are the same."""
    return ours > 0 and other > 0 and max(ours / other, other / ours) <= FACTOR


class Verdict(StrEnum):
    """What is to be said of a claim."""

    HOLDS = "holds"
    UNDER_A_READING = "holds under the reading given"
    NOT_FOUND = "not found"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True)
class Trial:
    """One reading of what the paper leaves open, and what it gives.

    Attributes
    ----------
    reading : str
        Such as "a = 10" or "u1"; empty where nothing is left open.
    found : str
        The numbers.
    agrees, opposes : bool
        Whether they are what the paper says, or the opposite of it.
    """

    reading: str
    found: str
    agrees: bool
    opposes: bool = False


@dataclass(frozen=True)
class Claim:
    """Something that the paper says or prints.

    Attributes
    ----------
    where : str
        Table, figure or section.
    says : str
        The paper's claim.
    reading : str
        How we read it: split, scale and settings, and which of them the paper leaves open.
    trials : sequence of Trial
        One for each reading that was tried.
    note : str
        What else belongs to what was found.
    brief : str
        What was found, in a few words, where there are many readings.
    listed : bool
        Whether the item lists its trials; not where its own table holds them.
    """

    where: str
    says: str
    reading: str
    trials: Sequence[Trial]
    note: str = ""
    brief: str = ""
    listed: bool = True

    @property
    def verdict(self) -> Verdict:
        """Say whether it holds for all readings, for some or for none; contradicted where some give the opposite."""
        agreeing = sum(trial.agrees for trial in self.trials)
        if agreeing:
            return Verdict.HOLDS if agreeing == len(self.trials) else Verdict.UNDER_A_READING
        return Verdict.CONTRADICTED if any(trial.opposes for trial in self.trials) else Verdict.NOT_FOUND

    @property
    def many(self) -> bool:
        """Whether there are too many readings for one cell."""
        return len(self.trials) > _FEW

    @property
    def found(self) -> str:
        """What was found, with its spread over the readings: each of them, if they are few."""
        if self.many:
            told = [self.brief] if self.brief else []
        else:
            told = [f"{trial.reading}: {trial.found}" if trial.reading else trial.found for trial in self.trials]
        return "; ".join(words for words in (*told, self._spread(), self.note) if words)

    def _spread(self) -> str:
        agreeing = [trial.reading for trial in self.trials if trial.agrees]
        if not agreeing:
            return f"for none of {len(self.trials)} readings" if self.many else ""
        if len(agreeing) == len(self.trials):
            return f"for all {len(self.trials)} readings" if self.many else ""
        every = [trial.reading for trial in self.trials]
        return f"holds for {len(agreeing)} of {len(self.trials)} readings: {_grouped(agreeing, every)}"

    def rows(self) -> list[dict[str, str]]:
        """Return the trials as a table, those that agree in bold; as a square one where readings end in a number."""
        places = [_split(trial.reading) for trial in self.trials]
        names = {name for _, name, _ in places}
        if len(names) > 1 or "" in names or len({head for head, _, _ in places}) == len(places):
            return [{"reading": trial.reading, "found": _bold(trial)} for trial in self.trials]
        (name,) = names
        columns = dict.fromkeys(value for _, _, value in places)
        cells = {(head, value): _bold(trial) for (head, _, value), trial in zip(places, self.trials, strict=True)}
        return [
            ({"reading": head} if head else {})
            | {f"{name} = {value}": cells.get((head, value), "") for value in columns}
            for head in dict.fromkeys(head for head, _, _ in places)
        ]

    def row(self) -> dict[str, str]:
        """Return the claim as a row of the table of claims."""
        return {
            "where": self.where,
            "the paper says": self.says,
            "our reading": self.reading,
            "what we find": self.found,
            "verdict": str(self.verdict),
        }


#: Up to so many readings are told one by one.
_FEW = 3


def _bold(trial: Trial) -> str:
    return f"**{trial.found}**" if trial.agrees else trial.found


def _split(reading: str) -> tuple[str, str, str]:
    """Return a reading's head, and the name and the value of the number that it ends with, or nothing."""
    head, _, tail = reading.rpartition(", ")
    name, equals, value = tail.partition(" = ")
    return (head, name, value) if equals else (reading, "", "")


def _grouped(agreeing: Sequence[str], every: Sequence[str]) -> str:
    """List readings, those with the same head together: "D = 20, every a; D = 50, a = 10, 30"."""
    of: dict[tuple[str, str], list[str]] = {}
    for reading in every:
        head, name, value = _split(reading)
        of.setdefault((head, name), []).append(value)
    groups: dict[tuple[str, str], list[str]] = {}
    for reading in agreeing:
        head, name, value = _split(reading)
        groups.setdefault((head, name), []).append(value)
    told = []
    for (head, name), values in groups.items():
        start = f"{head}, " if head and name else head
        every_one = len(values) == len(of[head, name]) > 1
        told.append(start + (name and (f"every {name}" if every_one else f"{name} = {', '.join(values)}")))
    return "; ".join(told)
