"""`read_answers`: questions with answers of their own; those without order become one yes/no column for each answer."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.data.observations import Observations
from kolmogorov.data.read import records_of
from kolmogorov.data.scale import Terms
from kolmogorov.data.sources import sources_of
from kolmogorov.data.told import Reading
from kolmogorov.data.values import Coder, UnreadableError, looks_like_number, numbers_of
from kolmogorov.data.vocabulary import IdColumn, Vocabulary
from kolmogorov.errors import DataError, ParameterError

#: Different words that a question may be answered with.
MOST_ANSWERS = 256
#: Options of ratings that say nothing of answers.
_IDLE = {"weight", "implicit", "map", "scaling", "scale", "duplicates", "titles"}


def read_answers(source: Any, *, several: str | None = None, **options: Any) -> Observations:
    """Read files, or other sources, of (user, question, answer) records, where each question is on a scale of its own.

    A question that is answered with numbers, with yes and no, or in a column of ordered categories, is one item, on its
    own scale from 0 to 1. One that is answered with other words, which have no order, is an item for each answer:
    ``colour = red`` is 1 for those who say red, 0 for those who say something else, unknown of those who say nothing.

    Parameters
    ----------
    source : path, data frame or Arrow stream, or several of them
        A list without usual names needs its columns named, or ``header=False``.
    several : str, optional
        What separates several answers in one cell, as in ``Python;SQL``: each is an item of yes and no.
    **options
        Those of `read_ratings` that say how a file is laid out and written. `minimum` and `maximum` are the ends of all
        questions with numbers beyond 0 to 1; by default each has its own, as `read_ratings` would find it.

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
    if idle := sorted(_IDLE & options.keys()):
        raise ParameterError(f"Answers have no {idle[0]}; leave out {idle[0]}=.")
    told = Reading(**options)
    users, questions = (IdColumn(what, told.missing) for what in ("user", "item"))
    gone = ["", *told.missing]
    # Of each question who answered it, with what, and the order of its answers where they have one.
    asked: defaultdict[str, tuple[list[Any], list[Any], dict[str, float]]] = defaultdict(lambda: ([], [], {}))
    for table in sources_of(source, sep=told.sep, encoding=told.encoding):
        found = records_of(table, told, users, questions)
        if found.guessed and table.named:
            shown = ", ".join(map(repr, found.about["columns"].values()))
            raise DataError(
                f"{table.name}: is the first line a header, with the columns {shown}? If so, name them with user=, "
                "item= and value=. If not, say header=False. If every column is a question, say wide=True."
            )
        names = list(questions.texts)
        for number in np.unique(found.items[found.items >= 0]).tolist():
            column = found.columns[found.items.tolist().index(number) if told.wide else 0]
            texts, codes = column.said()
            known = ~np.isin(texts, gone)[codes] & (found.users >= 0) & (told.wide or found.items == number)
            who, said, order = asked[names[number]]
            who.append(found.users[known])
            said.append(texts[codes[known]])
            order.update(column.order)
    entries: list[tuple[Any, Any, Floats]] = []
    items, people = Coder(), list(users.texts)
    for question, (who, said, order) in sorted(asked.items()):
        own, words = _once(np.concatenate(who), np.concatenate(said), question, people)
        parted = several is not None and any(several in word for word in words)
        numbers = _numbers(words, order, question, told) if own.size and not parted else None
        names = [question]
        if numbers is None:
            names, numbers = _yes_or_no(words, question, several if parted else None)
        keys = np.array([items[name] for name in names], dtype=np.int32)
        entries.append((np.repeat(own, keys.size), np.tile(keys, own.size), numbers))
    keys, partner, values = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    if not values.size:
        raise DataError("Every answer is missing. Nothing is left to read.")
    ids, rows = users.finish(keys)
    vocabulary, columns = Vocabulary.index(list(items), "item")
    return Observations.of_rows(Vocabulary(ids), rows, vocabulary, columns[partner], values, Terms(maximum=1))


def _once(own: Any, said: Any, question: str, users: list[str]) -> tuple[Any, list[str]]:
    """Return answers without those that say the same again; two answers of one user are refused."""
    answers: dict[int, str] = {}
    for user, word in zip(own.tolist(), said.tolist(), strict=True):
        if answers.setdefault(user, word) != word:
            one, other = answers[user][:40], word[:40]
            raise DataError(f"User {users[user]!r} answers {question!r} with {one!r} and with {other!r}. Leave one.")
    return np.array(list(answers), dtype=np.int32), list(answers.values())


def _yes_or_no(said: list[str], question: str, several: str | None) -> tuple[list[str], Floats]:
    """Return an item for each word that answers a question, and for each answer whether it is these words."""
    answers = [[word.strip() for word in text.split(several)] if several else [text] for text in said]
    words = sorted({word for some in answers for word in some if word})
    if len(words) > MOST_ANSWERS:
        raise DataError(
            f"{question!r} has {len(words):,} different answers, and a question may have {MOST_ANSWERS}. Join rare "
            f"ones, or leave it out with ignore={question!r}."
        )
    return [f"{question} = {word}" for word in words], np.array([float(w in some) for some in answers for w in words])


def _numbers(said: list[str], order: dict[str, float], question: str, told: Reading) -> Floats | None:
    """Return the answers to a question from 0 to 1 where they have an order; None where they are words."""
    texts = list(dict.fromkeys(said))
    try:
        table = [order[t] for t in texts] if order else numbers_of(texts, told.notation).numbers.tolist()
    except UnreadableError as error:
        # A stray word among numbers is rather one for what is missing.
        if 2 * sum(map(looks_like_number, said)) > len(said):
            raise DataError(f"Question {question!r}: an answer {error}") from None
        return None
    number = dict(zip(texts, table, strict=True))
    values = np.array([number[text] for text in said])
    if values.min() >= 0.0 and values.max() <= 1.0:
        return values
    terms = Terms(1.0, float(len(order))) if order else told
    found: Floats = terms.scale_of(values, None, lambda row: f"question {question!r}").probability(values)
    return found
