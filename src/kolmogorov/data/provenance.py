"""What a reader understood of a file or a frame: which columns, how it is written, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.errors import InvariantError

#: Names of columns and words that a sentence lists.
_MOST_LISTED = 8
_SEPARATORS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar", "::": "::", "whitespace": "blanks"}
#: What a file holds of it, by type.
_OF_LAYOUT: dict[str, type] = {
    "kind": str,
    "columns": dict,
    "ignored": list,
    "separator": str,
    "header": bool,
    "encoding": str,
}
_OWN: dict[str, type] = {
    "decimal": str,
    "words": dict,
    "points": str,
    "scale": str,
    "duplicates": str,
    "recipe": dict,
    "name": str,
}
_OWN |= {"credit": str, "n_records": int, "n_missing": int, "n_repeats": int}
_OPTIONAL = ("separator", "header", "encoding", "decimal")


@dataclass(frozen=True)
class TableLayout:
    """How one table is laid out: the columns by role, those not used, how a text file is written."""

    kind: str
    columns: Mapping[str, str]
    ignored: tuple[str, ...] = ()
    separator: str | None = None
    header: bool | None = None
    encoding: str | None = None


@dataclass(frozen=True, repr=False)
class Provenance:
    """What was understood of a file or a frame that observations were read from.

    Attributes
    ----------
    layout : TableLayout
        The kind of table (``"list"``, ``"wide"`` or ``"only yes"``), the column of each role, columns not used, and
        the separator, header and encoding of a text file.
    decimal : {".", ","} or None
        What stands before decimals, where there are any.
    words : dict
        Words that were read, and the numbers that they became.
    points : str
        The ratings, such as "1 to 5 by 0.5".
    scale : str
        How ratings become probabilities.
    n_records, n_missing, n_repeats : int
        Records read, values left out as missing, and records of a pair that had one before.
    duplicates : str
        What was done with repeated pairs.
    recipe : dict
        The options of `kolmogorov.read_ratings` that read the next file the same way.
    name : str
        What the table is called: the file's name without its ending, or the dataset's; empty where there is none.
    credit : str
        Who made it and under which licence, where that has to be said.

    Examples
    --------
    >>> import kolmogorov as km, pandas as pd
    >>> km.read_ratings(pd.DataFrame({"user": ["a", "b"], "film": ["x", "x"], "stars": [4, 5], "age": [30, 40]})).source
    Columns: user = user, item = film, value = stars. Not used: age.
    Ratings: 4 to 5 by 1, p = r / 5. 2 read, 0 missing.
    """

    layout: TableLayout
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
        """Return what is known of a source, or nothing else, under a name.

        Examples
        --------
        >>> Provenance.called("zoo").name, Provenance.called("zoo").lines()
        ('zoo', [])
        """
        known = cls(TableLayout("arrays", {})) if source is None else source
        return replace(known, name=name, credit=credit)

    def kept(self, n_entries: int) -> Provenance:
        """Return the same of a table in which so many records are left of all that were read."""
        return replace(self, n_repeats=self.n_records - n_entries)

    def label(self, rating: float) -> str | None:
        """Return the word that a rating was read from, or None; of several words the first.

        Examples
        --------
        >>> source = Provenance(TableLayout("list", {}), words={"yes": 1.0, "y": 1.0, "abstain": 0.5, "no": 0.0})
        >>> source.label(1.0), source.label(0.5), source.label(0.2)
        ('yes', 'abstain', None)
        """
        return next((word for word, number in self.words.items() if abs(number - rating) < 1e-9), None)

    def lines(self) -> list[str]:
        """Return the sentences that say it."""
        about = self.layout
        if not about.columns:
            return []
        used = ", ".join(f"{role} = {column}" for role, column in about.columns.items())
        said = [f"Columns: {used}.{f' Not used: {_listed(about.ignored)}.' if about.ignored else ''}"]
        if about.separator is not None:
            written = [f"separator {_SEPARATORS.get(about.separator, about.separator)}"]
            written.append("with header" if about.header else "no header")
            written += [f"decimal {'comma' if self.decimal == ',' else 'point'}"] if self.decimal else []
            written.append(f"encoding {about.encoding}")
            said.append(f"File: {', '.join(written)}.")
        if self.words:
            meant = sorted(self.words.items(), key=lambda pair: -pair[1])
            said.append(f"Words: {_listed([f'{word} = {number:g}' for word, number in meant])}.")
        repeats = ""
        if self.n_repeats:
            done = {"mean": "their mean taken", "last": "the last kept", "once": "counted once"}
            repeats = f", {self.n_repeats:,} repeated ({done.get(self.duplicates, self.duplicates)})"
        said.append(
            f"Ratings: {self.points}, {self.scale}. {self.n_records:,} read, {self.n_missing:,} missing{repeats}."
        )
        return said

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for a file or for JSON."""
        plain = asdict(self)
        layout = plain.pop("layout")
        return layout | plain | {"ignored": list(self.layout.ignored)}

    @classmethod
    def from_dict(cls, stored: Any) -> Provenance:
        """Return what `to_dict` gave, which may come from a file that anybody made."""
        if not isinstance(stored, dict) or len(str(stored)) > 10_000_000:
            raise InvariantError("the source must be a dictionary")
        for name, kind in (_OF_LAYOUT | _OWN).items():
            if type(stored[name]) is not kind and not (stored[name] is None and name in _OPTIONAL):
                raise InvariantError(f"the source has a strange {name}")
        texts = [*stored["columns"].values(), *stored["ignored"]]
        if not all(isinstance(text, str) for text in texts):
            raise InvariantError("columns of the source must be texts")
        if not all(type(number) in (int, float) and np.isfinite(number) for number in stored["words"].values()):
            raise InvariantError("words of the source must have finite numbers")
        # The next file is read by it.
        from kolmogorov.data.options import Reading

        Reading.of_recipe(stored["recipe"], {})
        layout = {name: stored[name] for name in _OF_LAYOUT} | {"ignored": tuple(stored["ignored"])}
        return cls(TableLayout(**layout), **{name: stored[name] for name in _OWN})


def points_of(found: Floats | None, low: float, high: float) -> str:
    """Say which ratings there are, from the distinct ones; None where they are too many.

    Examples
    --------
    >>> points_of(np.array([1.0, 2.5, 4.0, 4.5]), 1.0, 4.5), points_of(None, 0.0, 9.5)
    ('1 to 4.5 by 0.5', '0 to 9.5')
    """
    if found is None or found.size < 2:
        return f"{low:g} to {high:g}" if low != high else f"{low:g}"
    # The step is the largest of these that all ratings are multiples of, counted from the smallest.
    for step in (1.0, 0.5, 0.25, 0.1):
        steps = (found - low) / step
        if np.allclose(steps, np.rint(steps), atol=1e-9):
            return f"{low:g} to {high:g} by {step:g}"
    return f"{low:g} to {high:g}"


def _listed(names: Any) -> str:
    """Name the first few, and count the others."""
    more = len(names) - _MOST_LISTED
    return ", ".join(map(str, names[:_MOST_LISTED])) + (f" and {more:,} more" if more > 0 else "")
