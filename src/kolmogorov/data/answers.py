"""`read_answers`: questions with answers of their own; those without order become one yes/no column for each answer."""

from __future__ import annotations

from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.ids.encoder import IdEncoder
from kolmogorov.data.numbers.notation import Notation, text_of
from kolmogorov.data.numbers.reader import NumberReader, looks_like_number
from kolmogorov.data.numbers.scale import ScaleRequest
from kolmogorov.data.reading.opening import sources_of
from kolmogorov.data.reading.options import Column, ReadingOptions, taking
from kolmogorov.data.reading.shape import RowSource
from kolmogorov.data.reading.source import Source
from kolmogorov.data.table.observations import Observations
from kolmogorov.errors import DataError

#: Different words that a question may be answered with, by judgement.
MOST_ANSWERS = 256


class AnswerKeywords(TypedDict, total=False):
    """Options of files of answers: those of `read_ratings` that concern single questions."""

    user: Column
    item: Column
    value: Column
    minimum: float | None
    maximum: float | None
    sep: str
    header: bool | str
    wide: bool
    keep: Any
    ignore: Any
    missing: Any
    encoding: str


@taking(AnswerKeywords)
def read_answers(source: Any, **options: Unpack[AnswerKeywords]) -> Observations:
    """Read files, or other sources, of (user, question, answer) records, where each question is on a scale of its own.

    A question that is answered with numbers, or with yes and no, is one item, on its own scale from 0 to 1. One that is
    answered with other words, which have no order, is an item for each answer: ``colour = red`` is 1 for those who say
    red, 0 for those who say something else, and unknown of those who say nothing.

    Parameters
    ----------
    source : path, data frame, Arrow stream or cursor, or several of them
    user, item, value : str or int, optional
        Columns by name or by position from 0, as in `read_ratings`. A list without usual names needs them, or
        ``header=False``, so that no answer is taken for a header.
    minimum, maximum : float, optional
        Ends of the scale of all questions with numbers beyond 0 to 1. By default each has its own, as `read_ratings`
        would find it.
    sep, header, encoding
        Of text files, as in `read_ratings`.
    wide : bool
        Whether there is one row for each user and one column for each question, with its name in the header.
    keep, ignore : str, int, or several of them, optional
        Of a wide table: the columns that are questions, or those that are none.
    missing : str, number, or several of them
        What stands for a missing answer, beside nothing.

    Returns
    -------
    Observations
        Values are probabilities.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "survey.csv")
    >>> _ = path.write_text("who,drink,smokes,mood\\nann,tea,no,3\\nbob,milk,yes,4\\ncas,,no,1\\n")
    >>> answers = read_answers(path, wide=True)
    >>> answers.items.ids.tolist()
    ['drink = milk', 'drink = tea', 'mood', 'smokes']
    >>> answers.to_frame("pandas").query("user == 'ann'")["value"].tolist()
    [0.0, 1.0, 0.75, 0.0]
    """
    told = ReadingOptions(**options)
    users, questions, rows, columns, labels = _gathered(sources_of(source, told), told)
    order = np.lexsort((rows, columns))
    parts = np.split(order, np.flatnonzero(np.diff(columns[order])) + 1)
    request = ScaleRequest(told.minimum, told.maximum)
    names: list[str] = []
    found: list[tuple[Rows, Rows, Floats]] = []
    for part in parts:
        question = str(questions[columns[part[0]]])
        own, given = _once(rows[part], labels[part], users, question)
        values = _numbers(given, question, told.notation.missing, request)
        if values is None:
            words, codes = np.unique(given, return_inverse=True)
            if words.size > MOST_ANSWERS:
                raise DataError(
                    f"{question!r} has {words.size:,} different answers, and a question may have {MOST_ANSWERS}. Join "
                    "rare ones, or leave it out: ignore=..."
                )
            names += [f"{question} = {word}" for word in words]
            items = np.tile(np.arange(len(names) - words.size, len(names)), own.size)
            values = (codes[:, None] == np.arange(words.size)).astype(np.float64).ravel()
            own = np.repeat(own, words.size)
        else:
            names.append(question)
            items = np.full(own.size, len(names) - 1)
        found.append((own, items, values))
    own, items, values = (np.concatenate(part) for part in zip(*found, strict=True))
    return Observations.from_arrays(users[own], np.array(names, dtype=object)[items], values, maximum=1)


def _gathered(
    sources: list[Source], told: ReadingOptions
) -> tuple[NDArray[Any], NDArray[Any], Rows, Rows, NDArray[Any]]:
    """Return the ids of both sides, and of every answer that is not missing its row, its question and its text."""
    encoders = IdEncoder("user"), IdEncoder("item")
    keys: tuple[list[NDArray[Any]], list[NDArray[Any]]] = ([], [])
    texts: list[str] = []
    for source in sources:
        if not isinstance(source, RowSource):
            raise DataError(f"Expected a table of answers, got {type(source).__name__}.")
        for chunk in source.answers():
            for encoder, read, side in zip(encoders, keys, (chunk.users, chunk.items), strict=True):
                read.append(encoder.read(side, chunk.place))
            texts += map(_text, chunk.cells)
    marks = {"", *told.notation.missing}
    known = np.array([text not in marks for text in texts], dtype=bool)
    if not known.any():
        raise DataError("Every answer is missing. Nothing is left to read.")
    ids = [encoder.finish() for encoder in encoders]
    places = [e.row_numbers(np.concatenate(k)).astype(np.int64)[known] for e, k in zip(encoders, keys, strict=True)]
    return ids[0], ids[1], places[0], places[1], np.array(texts, dtype=object)[known]


def _once(rows: Rows, labels: NDArray[Any], users: NDArray[Any], question: str) -> tuple[Rows, list[str]]:
    """Return rows, which are in order, without those that say the same again; two answers of one user are refused."""
    again = np.flatnonzero(np.diff(rows) == 0)
    for place in again:
        if labels[place] != labels[place + 1]:
            raise DataError(
                f"User {users[rows[place]]!r} answers {question!r} with {labels[place][:40]!r} and with "
                f"{labels[place + 1][:40]!r}. Leave one answer."
            )
    return np.delete(rows, again), np.delete(labels, again).tolist()


def _numbers(labels: list[str], question: str, missing: tuple[str, ...], request: ScaleRequest) -> Floats | None:
    """Return the answers to a question from 0 to 1 where they are numbers, or yes and no; None where they are words."""

    def place(offset: int) -> str:
        return f"question {question!r}"

    try:
        values = NumberReader(Notation(missing=missing)).read(labels, place)
    except DataError:
        # A stray word among numbers is rather one for what is missing.
        if 2 * sum(map(looks_like_number, labels)) > len(labels):
            raise
        return None
    if values.min() >= 0.0 and values.max() <= 1.0:
        return values
    return request.scale_between(request.check(values, None, place)).probability(values)


def _text(cell: Any) -> str:
    """Return an answer as a file would hold it, empty where it is missing: None, nan, NA."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, float) and cell != cell):
        return ""
    return text_of(cell)
