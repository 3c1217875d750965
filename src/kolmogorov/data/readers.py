"""`read_ratings`: a ratings file of almost any make to `Observations`."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.optional import require
from kolmogorov._support.progress import notice
from kolmogorov.data.ingest import Duplicates, from_codes, from_frame
from kolmogorov.data.layout import Column, Layout, pick_columns, recognise
from kolmogorov.data.observations import Observations
from kolmogorov.data.textfile import TextFile
from kolmogorov.data.vocabulary import Vocabulary
from kolmogorov.errors import DataError

_CHUNK = 4_096


def read_ratings(
    path: str | os.PathLike[str],
    *,
    user: Column = None,
    item: Column = None,
    value: Column = None,
    weight: Column = None,
    sep: str = "auto",
    header: bool | Literal["auto"] = "auto",
    minimum: float | None = None,
    maximum: float | None = None,
    scaling: str = "max",
    duplicates: Duplicates = "error",
    encoding: str = "utf-8",
) -> Observations:
    """Read a file of (user, item, rating) lines.

    Takes comma, tab, semicolon, ``::`` and whitespace separated text, with or without a header, plain or
    compressed (.gz, .xz, .bz2, .zip), and parquet with the extra ``parquet``. Ids that are all integers
    become integers, otherwise they stay strings.

    Parameters
    ----------
    path : path
        "-" reads standard input.
    user, item, value, weight : str or int, optional
        Columns by name or by position from 0. By default user, item and value are found by their usual
        names, else they are the first three columns; there is no weight.
    sep : str
        The separator; "auto" looks at the first line, "whitespace" splits at runs of blanks.
    header : bool or "auto"
        Whether the first line names the columns; "auto" says so where it holds usual names or no number.
    minimum, maximum, scaling, duplicates
        As in `Observations.from_arrays`.
    encoding : str
        Of a text file.

    Returns
    -------
    Observations

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "ratings.csv")
    >>> _ = path.write_text("userId,movieId,rating\\n1,10,4.5\\n1,20,5\\n2,10,0.5\\n")
    >>> read_ratings(path)
    Observations: 3 of 2 users × 2 items (75.0% observed), p = r / 5
    """
    settings: dict[str, Any] = {
        "minimum": minimum,
        "maximum": maximum,
        "scaling": scaling,
        "duplicates": duplicates,
    }
    wanted = {"user": user, "item": item, "value": value, "weight": weight}
    if str(path).lower().endswith((".parquet", ".pq")):
        observations = _read_parquet(path, wanted, settings)
    else:
        with TextFile(path, encoding) as file, _collector_paused():
            observations = _read_text(file, wanted, sep, header, settings)
    if maximum is None:
        notice(f"{path}: maximum taken as {observations.maximum:g}, so {observations.scale}")
    return observations


def read_pairs(
    path: str | os.PathLike[str], *, sep: str = "auto", header: bool | Literal["auto"] = "auto"
) -> tuple[list[str], list[str]]:
    """Read a file of (user, item) lines, as text; further columns are ignored."""
    with TextFile(path) as file:
        layout = recognise(file, {}, sep, header, roles=("user", "item"))
        pairs: dict[str, list[str]] = {"user": [], "item": []}
        for columns, _ in _chunks(file, layout):
            for role, texts in pairs.items():
                texts.extend(text.strip() for text in columns[layout.positions[role]])
    if not pairs["user"]:
        raise DataError(f"{file.name} holds no pairs.")
    return pairs["user"], pairs["item"]


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep the cyclic garbage collector from walking over a million short-lived rows; a third of the time is its."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _read_text(
    file: TextFile,
    wanted: dict[str, Column],
    sep: str,
    header: bool | Literal["auto"],
    settings: dict[str, Any],
) -> Observations:
    layout = recognise(file, wanted, sep, header)
    users, items, ratings, weights = _Names(), _Names(), _Numbers("value"), _Numbers("weight")
    parts: dict[str, list[NDArray[Any]]] = {"user": [], "item": [], "value": [], "weight": []}
    fields: dict[str, _Names | _Numbers] = {"user": users, "item": items, "value": ratings, "weight": weights}
    for columns, lines in _chunks(file, layout):
        for name, position in layout.positions.items():
            parts[name].append(fields[name].read(columns[position], file, lines))
    if not parts["user"]:
        raise DataError(f"{file.name} holds no ratings{' below its header' if layout.has_header else ''}.")
    codes = {name: np.concatenate(arrays) for name, arrays in parts.items() if arrays}
    user_names, user_codes = users.vocabulary(codes["user"], "user", file, lines)
    item_names, item_codes = items.vocabulary(codes["item"], "item", file, lines)
    return from_codes(
        user_names,
        user_codes,
        item_names,
        item_codes,
        codes["value"],
        weights=codes.get("weight"),
        locate=lambda position: f"{file.name}, line {lines.of(position)}",
        **settings,
    )


def _read_parquet(path: Any, wanted: dict[str, Column], settings: dict[str, Any]) -> Observations:
    require("pyarrow", extra="parquet", purpose="Reading parquet files")
    from pyarrow import ArrowException, parquet

    try:
        table = parquet.read_table(path)
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.") from None
    except (ArrowException, OSError) as error:
        raise DataError(f"{path} cannot be read as parquet: {error}") from None
    places = pick_columns(table.column_names, wanted, str(path))
    names = {role: table.column_names[place] for role, place in places.items()}
    if table.num_rows == 0:
        raise DataError(f"{path} holds no ratings.")
    try:
        return from_frame(
            table.select(list(dict.fromkeys(names.values()))),
            names["user"],
            names["item"],
            names["value"],
            weight=names.get("weight"),
            **settings,
        )
    except DataError as error:
        raise DataError(f"{path}, {error}") from None


def _chunks(file: TextFile, layout: Layout) -> Iterator[tuple[list[tuple[str, ...]], _Lines]]:
    """Yield the file below its header, some thousand records at a time, as columns of text."""
    records = file.records(layout.separator)
    if layout.has_header:
        while _is_blank(next(records)):
            pass
    lines = _Lines(file.line + 1)
    while chunk := file.take(records, _CHUNK):
        rows = lines.add(chunk, file.line)
        _check_width(rows, layout, file, lines)
        if rows:
            yield list(zip(*rows, strict=True)), lines


class _Names(dict[str, int]):
    """Ids by first appearance; a lookup of a new one adds it, at the speed of a dictionary's own code."""

    def __missing__(self, text: str) -> int:
        self[text] = number = len(self)
        return number

    def read(self, column: tuple[str, ...], file: TextFile, lines: _Lines) -> NDArray[np.int32]:
        return np.fromiter(map(self.__getitem__, column), dtype=np.int32, count=len(column))

    def vocabulary(
        self, codes: NDArray[np.int32], what: str, file: TextFile, lines: _Lines
    ) -> tuple[Vocabulary, NDArray[np.int64]]:
        texts = [text.strip() for text in self]
        for number, text in enumerate(texts):
            if not text or "\0" in text:
                line = lines.of(int(np.argmax(codes == number)))
                came = "nothing" if not text else f"{text!r}: this is not a text file"
                raise DataError(f"{file.name}, line {line}: the {what} must be an id, got {came}.")
        if all(_is_integer(text) for text in texts):
            ids, rank = np.unique(np.array([int(text) for text in texts], dtype=np.int64), return_inverse=True)
            return Vocabulary(ids), rank[codes]
        merged: dict[str, int] = {}
        renumber = np.array([merged.setdefault(text, len(merged)) for text in texts], dtype=np.int64)
        return Vocabulary.from_dictionary(list(merged), renumber[codes])


class _Numbers(dict[str, float]):
    """Numbers by their text. Ratings repeat a few texts a million times, so each text is parsed once."""

    _LIMIT = 200_000

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what

    def __missing__(self, text: str) -> float:
        # float() also takes "1_000"; a file in which that stands does not mean a number.
        if "_" in text:
            raise ValueError(text)
        self[text] = number = float(text)
        return number

    def read(self, column: tuple[str, ...], file: TextFile, lines: _Lines) -> NDArray[np.float64]:
        if len(self) > self._LIMIT:
            self.clear()
        try:
            return np.fromiter(map(self.__getitem__, column), dtype=np.float64, count=len(column))
        except ValueError:
            for offset, text in enumerate(column):
                try:
                    self[text]
                except ValueError:
                    raise DataError(
                        f"{file.name}, line {lines.within(offset)}: {self.what} must be a number, got {text!r}."
                    ) from None
            raise


class _Lines:
    """From the number of a record to its line, without keeping a number per record.

    Most files have one record a line. Where blank lines or line breaks inside quotes disturb that, the
    chunk in which it happens keeps its own line numbers.
    """

    def __init__(self, first_line: int) -> None:
        self._next_line = first_line
        self._next_record = 0
        self._chunks: list[tuple[int, int, NDArray[np.int64] | None]] = []

    def add(self, chunk: list[list[str]], last_line: int) -> list[list[str]]:
        """Note where the records of a chunk stand; return those that are not blank lines."""
        line, own, rows = self._next_line, None, chunk
        self._next_line = last_line + 1
        if last_line + 1 - line != len(chunk) or min(map(len, chunk)) < 2:
            heights = [1 + sum(field.count("\n") for field in record) for record in chunk]
            at = line + np.cumsum([0, *heights[:-1]])
            own = at[[not _is_blank(record) for record in chunk]]
            rows = [record for record in chunk if not _is_blank(record)]
        self._chunks.append((self._next_record, line, own))
        self._next_record += len(rows)
        return rows

    def within(self, offset: int) -> int:
        """Return the line of the offset-th record of the latest chunk."""
        return self.of(self._chunks[-1][0] + offset)

    def of(self, record: int) -> int:
        """Return the line of a record."""
        first, line, own = next(chunk for chunk in reversed(self._chunks) if chunk[0] <= record)
        return line + record - first if own is None else int(own[record - first])


def _is_blank(record: list[str]) -> bool:
    return not record or (len(record) == 1 and not record[0].strip())


def _check_width(rows: list[list[str]], layout: Layout, file: TextFile, lines: _Lines) -> None:
    if set(map(len, rows)) - {layout.width}:
        offset = next(k for k, row in enumerate(rows) if len(row) != layout.width)
        raise DataError(
            f"{file.name}, line {lines.within(offset)}: expected {layout.width} fields as in the first line, "
            f"got {len(rows[offset])}."
        )


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdigit() and len(digits) < 19
    return plain and (text == "0" or digits[0] != "0")
