"""`read_answers`: questions with answers of their own; those without order become one yes/no column for each answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.data.cells import IdColumn, cell_codes
from kolmogorov.data.observations import Observations
from kolmogorov.data.options import Reading
from kolmogorov.data.read import has_header, list_columns, wide_columns
from kolmogorov.data.scale import ScaleRequest
from kolmogorov.data.sources import TextSource, sources_of
from kolmogorov.data.values import BLANK_WORDS, PAIR_OF, UnreadableError, looks_like_number, numbers_of, text_of
from kolmogorov.data.vocabulary import Coder, Vocabulary
from kolmogorov.errors import DataError

#: Different words that a question may be answered with.
MOST_ANSWERS = 256


def read_answers(
    source: Any,
    *,
    user: str | int | None = None,
    item: str | int | None = None,
    value: str | int | None = None,
    sep: str = "auto",
    header: bool | str = "auto",
    wide: bool = False,
    keep: Any = None,
    ignore: Any = (),
    missing: Any = (),
    several: str | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    encoding: str = "auto",
) -> Observations:
    """Read files, or other sources, of (user, question, answer) records, where each question is on a scale of its own.

    A question that is answered with numbers, with yes and no, or in a column of ordered categories, is one item, on its
    own scale from 0 to 1. One that is answered with other words, which have no order, is an item for each answer:
    ``colour = red`` is 1 for those who say red, 0 for those who say something else, unknown of those who say nothing.

    Parameters
    ----------
    source : path, data frame or Arrow stream, or several of them
    user, item, value, sep, header, wide, keep, ignore, encoding
        As in `read_ratings`. A list without usual names needs its columns named, or ``header=False``.
    missing : str, number, or several of them
        What stands for a missing answer, beside nothing.
    several : str, optional
        What separates several answers in one cell, as in ``Python;SQL``: each is an item of yes and no.
    minimum, maximum : float, optional
        Ends of the scale of all questions with numbers beyond 0 to 1. By default each has its own, as `read_ratings`
        would find it.

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
    given = dict(locals())
    source, several = given.pop("source"), given.pop("several")
    told = Reading(**given)
    users, questions = IdColumn("user"), _Questions()
    for table in sources_of(source, sep=sep, encoding=encoding):
        if isinstance(table, TextSource) and has_header(table, told):
            table.take_header()
        _read(table, told, users, questions)
    request = ScaleRequest(minimum, maximum)
    keys, names, values = questions.entries(told, request, several, list(users.texts))
    ids, rows = users.finish(keys)
    items, columns = Vocabulary.index(names[0], "item")
    return Observations.of_rows(Vocabulary(ids), rows, items, columns[names[1]], values, Reading(maximum=1))


class _Questions(dict[str, tuple[list[Any], list[Any], dict[str, float]]]):
    """Of each question who answered it, with what, and the order of its answers where they have one."""

    def __missing__(self, name: str) -> tuple[list[Any], list[Any], dict[str, float]]:
        self[name] = ([], [], {})
        return self[name]

    def entries(
        self, told: Reading, request: ScaleRequest, several: str | None, users: list[str]
    ) -> tuple[Any, Any, Floats]:
        """Return the users of all entries, the names of items and which of them each entry is about, and the values."""
        names = Coder()
        keys, items, values = [], [], []
        for question, (who, texts, order) in sorted(self.items()):
            own, said = _once(np.concatenate(who), np.concatenate(texts), question, users)
            if not own.size:
                continue
            if several is None or not any(several in text for text in said.tolist()):
                numbers = _numbers(said, order, question, told, request)
                if numbers is not None:
                    keys.append(own)
                    items.append(np.full(own.size, names[question]))
                    values.append(numbers)
                    continue
            answers = [[t.strip() for t in text.split(several)] if several else [text] for text in said.tolist()]
            words = sorted({word for some in answers for word in some if word})
            if len(words) > MOST_ANSWERS:
                raise DataError(
                    f"{question!r} has {len(words):,} different answers, and a question may have {MOST_ANSWERS}. Join "
                    f"rare ones, or leave it out with ignore={question!r}."
                )
            columns = np.array([names[f"{question} = {word}"] for word in words])
            keys.append(np.repeat(own, columns.size))
            items.append(np.tile(columns, own.size))
            values.append(np.array([float(word in some) for some in answers for word in words]))
        if not keys:
            raise DataError("Every answer is missing. Nothing is left to read.")
        return np.concatenate(keys), (list(names), np.concatenate(items)), np.concatenate(values)


def _read(table: Any, told: Reading, users: IdColumn, questions: _Questions) -> None:
    marks = {"", *told.notation.missing}
    gone = frozenset(mark for mark in told.notation.missing if mark.casefold() in BLANK_WORDS)
    first = 0
    if told.wide:
        user, columns, names = wide_columns(table, told)
        for arrays in table.batches([user, *columns]):
            own = users.read(arrays[0], table, first, gone)
            for name, array in zip(names, arrays[1:], strict=True):
                _note(questions[name], own, array, marks)
            first += own.size
        return
    at, guessed = list_columns(table, told)
    if guessed and table.named:
        shown = ", ".join(repr(table.names[at[role]]) for role in at)
        raise DataError(
            f"{table.name}: is the first line a header, with the columns {shown}? If so, name them with user=, item= "
            "and value=. If not, say header=False. If every column is a question, say wide=True."
        )
    for arrays in table.batches([at["user"], at["item"], at["value"]]):
        own = users.read(arrays[0], table, first, gone)
        items = IdColumn("item")
        which = items.read(arrays[1], table, first, gone)
        for number, name in enumerate(items.texts):
            rows = np.flatnonzero(which == number)
            _note(questions[name], own[rows], arrays[2].take(rows), marks)
        first += own.size


def _note(question: tuple[list[Any], list[Any], dict[str, float]], own: Any, cells: Any, marks: set[str]) -> None:
    """Take some answers to a question, without those that are missing."""
    coder = Coder()
    codes = cell_codes(coder, cells)
    texts = np.array([*("" if cell != cell else text_of(cell) for cell in coder), ""], dtype=object)
    kept = ~np.isin(texts, list(marks))[codes] & (own >= 0)
    question[0].append(own[kept])
    question[1].append(texts[codes][kept])
    if getattr(cells.type, "ordered", False):
        words = [text_of(text) for text in cells.dictionary.to_pylist()]
        if not all(looks_like_number(word) or word.casefold() in PAIR_OF for word in words):
            question[2].update({word: float(k) for k, word in enumerate(words, start=1)})


def _once(own: Any, said: Any, question: str, users: list[str]) -> tuple[Any, Any]:
    """Return answers without those that say the same again; two answers of one user are refused."""
    order = np.argsort(own, kind="stable")
    own, said = own[order], said[order]
    again = np.flatnonzero(np.diff(own) == 0)
    for k in np.flatnonzero(said[again] != said[again + 1])[:1]:
        one, other = said[again[k]][:40], said[again[k] + 1][:40]
        raise DataError(
            f"User {users[own[again[k]]]!r} answers {question!r} with {one!r} and with {other!r}. Leave one."
        )
    return np.delete(own, again), np.delete(said, again)


def _numbers(said: Any, order: dict[str, float], question: str, told: Reading, request: ScaleRequest) -> Floats | None:
    """Return the answers to a question from 0 to 1 where they have an order; None where they are words."""
    texts, codes = np.unique(said.astype(str), return_inverse=True)
    try:
        table = (
            np.array([order[text] for text in texts]) if order else numbers_of(texts.tolist(), told.notation).numbers
        )
    except UnreadableError as error:
        # A stray word among numbers is rather one for what is missing.
        if 2 * sum(looks_like_number(text) for text in said.tolist()) > said.size:
            raise DataError(f"Question {question!r}: an answer {error}") from None
        return None
    values = table[codes]
    if values.min() >= 0.0 and values.max() <= 1.0:
        return values

    def place(offset: int) -> str:
        return f"question {question!r}"

    if order:
        return (
            ScaleRequest(1.0, float(len(order))).scale_between(request.check(values, None, place)).probability(values)
        )
    found: Floats = request.scale_between(request.check(values, None, place)).probability(values)
    return found
