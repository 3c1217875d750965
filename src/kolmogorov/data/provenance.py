"""What a reader understood of a file or a frame: which columns, how it is written, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.errors import InvariantError

#: Names of columns and words that a sentence lists.
_MOST_LISTED = 8
_SEPARATORS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar", "::": "::", "whitespace": "blanks"}
_DONE = {"mean": "their mean taken", "last": "the last kept", "once": "counted once"}
_OPTIONAL = {"separator": str, "header": bool, "encoding": str, "decimal": str}


@dataclass(frozen=True, repr=False)
class Provenance:
    """What was understood of a file or a frame that observations were read from.

    Attributes
    ----------
    kind, columns, ignored : str, dict, list
        ``"list"``, ``"wide"`` or ``"only yes"``; the name of the column of each role; the columns not used.
    separator, header, encoding, decimal : str or bool, or None
        How a text file is written; what stands before decimals, where there are any.
    words, points, scale : dict, str, str
        Words that were read, and the numbers that they became; the ratings, such as "1 to 5 by 0.5"; how they become
        probabilities.
    n_records, n_missing, n_repeats, duplicates : int, int, int, str
        Records read, values left out as missing, records of a pair that had one before, and what was done with these.
    recipe : dict
        The options of `kolmogorov.read_ratings` that read the next file the same way.
    name, credit : str
        What the table is called: the file's name without its ending, or the dataset's; who made it and under which
        licence, where that has to be said.

    Examples
    --------
    >>> import kolmogorov as km, pandas as pd
    >>> km.read_ratings(pd.DataFrame({"user": ["a", "b"], "film": ["x", "x"], "stars": [4, 5], "age": [30, 40]})).source
    Columns: user = user, item = film, value = stars. Not used: age.
    Ratings: 4 to 5 by 1, p = r / 5. 2 read, 0 missing.
    """

    kind: str = "arrays"
    columns: Mapping[str, str] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)
    separator: str | None = None
    header: bool | None = None
    encoding: str | None = None
    decimal: str | None = None
    words: Mapping[str, float] = field(default_factory=dict)
    points: str = ""
    scale: str = ""
    n_records: int = 0
    n_missing: int = 0
    n_repeats: int = 0
    duplicates: str = "error"
    recipe: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    credit: str = ""

    @classmethod
    def called(cls, name: str, source: Provenance | None = None, credit: str = "") -> Provenance:
        """Return what is known of a source, or nothing else, under a name."""
        return replace(source or cls(), name=name, credit=credit)

    def label(self, rating: float) -> str | None:
        """Return the word that a rating was read from, or None; of several words the first."""
        return next((word for word, number in self.words.items() if abs(number - rating) < 1e-9), None)

    def lines(self) -> list[str]:
        """Return the sentences that say it."""
        if not self.columns:
            return []
        used = ", ".join(f"{role} = {column}" for role, column in self.columns.items())
        said = [f"Columns: {used}.{f' Not used: {_listed(self.ignored)}.' if self.ignored else ''}"]
        if self.separator is not None:
            written = [f"separator {_SEPARATORS.get(self.separator, self.separator)}"]
            written.append("with header" if self.header else "no header")
            written += [f"decimal {'comma' if self.decimal == ',' else 'point'}"] if self.decimal else []
            said.append(f"File: {', '.join(written)}, encoding {self.encoding}.")
        if self.words:
            meant = sorted(self.words.items(), key=lambda pair: -pair[1])
            said.append(f"Words: {_listed([f'{word} = {number:g}' for word, number in meant])}.")
        done = _DONE.get(self.duplicates, self.duplicates)
        repeats = f", {self.n_repeats:,} repeated ({done})" if self.n_repeats else ""
        read = f"{self.n_records:,} read, {self.n_missing:,} missing{repeats}."
        return [*said, f"Ratings: {self.points}, {self.scale}. {read}"]

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for a file or for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Any) -> Provenance:
        """Return what `to_dict` gave, which may come from a file that anybody made."""
        from kolmogorov.data.read import Reading

        if not isinstance(stored, dict) or len(str(stored)) > 10_000_000:
            raise InvariantError("the source must be a dictionary")
        found = {part.name: stored[part.name] for part in fields(cls)}
        for name, empty in asdict(cls()).items():
            kind = _OPTIONAL.get(name, type(empty))
            if type(found[name]) is not kind and not (found[name] is None and name in _OPTIONAL):
                raise InvariantError(f"the source has a strange {name}")
        if not all(isinstance(text, str) for text in (*found["columns"].values(), *found["ignored"])):
            raise InvariantError("columns of the source must be texts")
        if not all(type(number) in (int, float) and np.isfinite(number) for number in found["words"].values()):
            raise InvariantError("words of the source must have finite numbers")
        # The next file is read by it.
        Reading.of_recipe(found["recipe"], {})
        return cls(**found)


def points_of(found: Floats, low: float, high: float) -> str:
    """Say which ratings there are, from the distinct ones; none where they are too many."""
    said = f"{low:g} to {high:g}" if low != high else f"{low:g}"
    # The step is the largest of these that all ratings are multiples of, counted from the smallest.
    for step in (1.0, 0.5, 0.25, 0.1) if found.size > 1 else ():
        steps = (found - low) / step
        if np.allclose(steps, np.rint(steps), atol=1e-9):
            return f"{said} by {step:g}"
    return said


def _listed(names: Any) -> str:
    """Name the first few, and count the others."""
    more = len(names) - _MOST_LISTED
    return ", ".join(map(str, names[:_MOST_LISTED])) + (f" and {more:,} more" if more > 0 else "")
