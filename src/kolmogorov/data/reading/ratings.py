"""`read_ratings`: a ratings file of almost any make to `Observations`."""

from __future__ import annotations

import os
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.optional import require
from kolmogorov._support.progress import notice
from kolmogorov.data.observations import Observations
from kolmogorov.data.reading.ingest import Duplicates, from_codes, from_frame
from kolmogorov.data.reading.layout import Column, pick_columns, recognise
from kolmogorov.data.reading.names import TextNames
from kolmogorov.data.reading.records import Source, TextSource, is_parquet, text_columns
from kolmogorov.data.reading.textfile import TextFile
from kolmogorov.errors import DataError


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
    if is_parquet(path):
        observations = _read_parquet(path, wanted, settings)
    else:
        observations = _read_text(TextSource(path, wanted, sep, header, encoding), settings)
    if maximum is None:
        notice(f"{path}: maximum taken as {observations.maximum:g}, so {observations.scale}")
    return observations


def read_pairs(
    path: str | os.PathLike[str],
    *,
    sep: str = "auto",
    header: bool | Literal["auto"] = "auto",
    encoding: str = "utf-8",
) -> tuple[list[str], list[str]]:
    """Read a file of (user, item) lines, as text; further columns are ignored."""
    with TextFile(path, encoding) as file:
        layout = recognise(file, {}, sep, header, roles=("user", "item"))
        pairs: dict[str, list[str]] = {"user": [], "item": []}
        for columns, _ in text_columns(file, layout):
            for role, texts in pairs.items():
                texts.extend(text.strip() for text in columns[layout.positions[role]])
    if not pairs["user"]:
        raise DataError(f"{file.name} holds no pairs.")
    return pairs["user"], pairs["item"]


def _read_text(source: Source, settings: dict[str, Any]) -> Observations:
    users, items = TextNames("user"), TextNames("item")
    parts: dict[str, list[NDArray[Any]]] = {"user": [], "item": [], "value": [], "weight": []}
    done = 0
    for chunk in source.chunks():

        def place(offset: int, first: int = done) -> str:
            return source.place(first + offset)

        parts["user"].append(users.read(chunk.users, place))
        parts["item"].append(items.read(chunk.items, place))
        parts["value"].append(chunk.ratings)
        if chunk.weights is not None:
            parts["weight"].append(chunk.weights)
        done += chunk.ratings.size
    whole = {name: np.concatenate(arrays) for name, arrays in parts.items() if arrays}
    (user_names, user_rows), (item_names, item_rows) = users.vocabulary(), items.vocabulary()
    return from_codes(
        user_names,
        user_rows[whole["user"]],
        item_names,
        item_rows[whole["item"]],
        whole["value"],
        weights=whole.get("weight"),
        locate=source.place,
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
