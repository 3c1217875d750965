"""What a page says of the table itself: names, how it is filled, one example, and the ratings of its users."""

from collections import Counter
from datetime import date
from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data import Observations, Vocabulary
from kolmogorov.data.told import Provenance
from kolmogorov.descent.fitted import Fitted, Trained, entry_rows
from kolmogorov.errors import ParameterError
from kolmogorov.report.page import as_text, nibbles, varints

#: Letters of a name that the page holds; nobody reads more. By judgement.
_LONGEST = 300
_HISSING = ("s", "x", "z", "ch", "sh")


def shown_names(vocabulary: Vocabulary) -> list[str]:
    """Return every row's name, its title or its id; where several have the same, or none, the id follows."""
    names = [vocabulary.name(row) for row in range(len(vocabulary))]
    often = Counter(names)
    return [
        _cut(f"{name} [{identifier}]" if often[name] > 1 or not name.strip() else name)
        for name, identifier in zip(names, vocabulary.ids.tolist(), strict=True)
    ]


def label_of(whole: Observations, value: float) -> str | None:
    """Return the word that a value in [0, 1] was read from; of yes and no these; None where there is none."""
    if whole.is_binary:
        return ("no", "yes")[int(value)]
    return None if whole.source is None else whole.source.label(float(whole.scale.rating(value)))


def plurals(nouns: Any) -> dict[str, list[str]]:
    """Return singular and plural of what users and items are.

    Parameters
    ----------
    nouns : (str, str)
        Such as ("animal", "trait"); an irregular plural stands after a slash, as in "person/people".
    """
    if not (isinstance(nouns, (tuple, list)) and len(nouns) == 2 and all(isinstance(n, str) and n for n in nouns)):
        raise ParameterError(f"'nouns' must be a pair of words such as ('animal', 'trait'), got {nouns!r}.")
    return {side: _forms(noun) for side, noun in zip(("user", "item"), nouns, strict=True)}


def _forms(noun: str) -> list[str]:
    if "/" in noun:
        single, _, many = noun.partition("/")
        return [single, many]
    if noun.endswith("y") and noun[-2:-1] not in ("a", "e", "i", "o", "u"):
        return [noun, f"{noun[:-1]}ies"]
    return [noun, f"{noun}{'es' if noun.endswith(_HISSING) else 's'}"]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


#: Values told apart; where there are more, tenths of the scale are. By judgement.
_VALUES = 12


def data_name(trained: Trained, observations: Observations | None) -> str:
    """Return what the data is called: the file or dataset of the observations given, or that of the training data.

    Examples
    --------
    >>> import kolmogorov as km
    >>> zoo = km.datasets.load("zoo")
    >>> data_name(km.KolmogorovModel(3, random_state=0).fit(zoo).fitted_, None)
    'zoo'
    """
    return next(filter(None, (source.name for source in _sources(trained, observations))), "")


def _sources(trained: Trained, observations: Observations | None) -> list[Provenance]:
    """Return what is known of where the data come from, that of the observations given first."""
    given = () if observations is None else (observations,)
    return [table.source for table in (*given, trained.training) if table.source is not None]


def today() -> str:
    """Return the date in words."""
    now = date.today()
    return f"{now.day} {now:%B %Y}"


def table_of(trained: Trained, whole: Observations, fresh: Observations, name: str) -> dict[str, Any]:
    """Describe the whole table, trained on or held out: its name, its size, and how often each value is in it."""
    users, items = _size(trained, fresh)
    n_entries = len(trained.training) + len(fresh)
    sources = _sources(trained, whole)
    return {
        "name": name,
        "credit": next((source.credit for source in sources if source.credit and source.name == name), ""),
        "n_users": users,
        "n_items": items,
        "n_entries": n_entries,
        "filled": round(min(1.0, n_entries / max(users * items, 1)), 6),
        "histogram": histogram(whole),
        "labels": labels_of(whole),
    }


def _size(trained: Trained, fresh: Observations) -> tuple[int, int]:
    """Return how many users and items there are, those that only entries not trained on have among them."""
    known = trained.training
    sides = (
        (trained.user_seen, known.users.translate(fresh.users), fresh.rows.counts > 0),
        (trained.item_seen, known.items.translate(fresh.items), fresh.seen_items),
    )
    users, items = (int(seen.sum() + (late & ~np.append(seen, False)[rows]).sum()) for seen, rows, late in sides)
    return users, items


def labels_of(whole: Observations) -> list[list[Any]]:
    """Return the words that values of the table were read from, as [value in [0, 1], word], the smallest first.

    Examples
    --------
    >>> import kolmogorov as km
    >>> labels_of(km.datasets.load("un-votes", since=2019))
    [[0.0, 'no'], [0.5, 'abstain'], [1.0, 'yes']]
    """
    values = np.unique(whole.values.round(9)).tolist()
    if len(values) > _VALUES:
        return []
    found = [[value, label_of(whole, value)] for value in values]
    return [] if any(word is None for _, word in found) else found


def histogram(whole: Observations) -> list[list[Any]]:
    """Return how many entries have each value, as [label, number]; where there are many values, in ten bins.

    Examples
    --------
    >>> import kolmogorov as km
    >>> histogram(km.Observations.from_arrays([1, 1, 2], [5, 6, 5], [1, 3, 3], maximum=5))
    [['1', 1], ['3', 2]]
    """
    values, scale = whole.values, whole.scale
    distinct, counts = np.unique(values.round(9), return_counts=True)
    if len(distinct) <= _VALUES:
        words = [label_of(whole, value) or f"{scale.rating(value):g}" for value in distinct.tolist()]
        return [[word, int(n)] for word, n in zip(words, counts, strict=True)]
    place = np.bincount(np.minimum((values * 10).astype(int), 9), minlength=10)
    ends = [f"{scale.rating(k / 10):.3g}–{scale.rating((k + 1) / 10):.3g}" for k in range(10)]
    return [[label, int(n)] for label, n in zip(ends, place, strict=True)]


#: Answers that are looked at. By judgement: soon enough done.
_LOOKED = 200_000


def example(fitted: Fitted, shown: Rows, fresh: Observations) -> dict[str, Any] | None:
    """Choose the answer that the model expects to differ most from what everybody would say.

    It is chosen by what is predicted, not by what was said, among answers that the model was not trained on; where
    there are none, among the others. Users and items of which more is known than usual go first.

    Returns
    -------
    dict or None
        The place of the user among those shown, the item's row, what was said, and whether the model had seen it.
    """
    place = np.full(len(fitted.users), -1, dtype=np.int64)
    place[shown] = np.arange(len(shown))
    for late, table in ((True, fresh), (False, fitted.training)):
        users, items = (rows[:_LOOKED] for rows in entry_rows(fitted.training, table))
        known = np.flatnonzero((users >= 0) & (items >= 0))
        known = known[(place[users[known]] >= 0) & fitted.item_seen[items[known]]]
        if known.size:
            best = known[_most_telling(fitted, users[known], items[known])]
            said = float(table.values[best])
            return {"user": int(place[users[best]]), "item": int(items[best]), "said": said, "late": late}
    return None


def _most_telling(fitted: Fitted, users: Rows, items: Rows) -> int:
    """Return which of some pairs the model sets most apart from everybody; ties go to what is better known."""
    everybody = np.full_like(users, len(fitted.users))
    apart = np.abs(fitted.at_rows(users, items) - fitted.at_rows(everybody, items)).round(6)
    counts = [side[rows] for side, rows in ((fitted.user_counts, users), (fitted.item_counts, items))]
    usual = [count >= np.median(count) for count in counts]
    return int(np.lexsort((-counts[0], -counts[1], -apart, ~(usual[0] & usual[1])))[0])


#: Ratings on a page, at most: a few megabytes. Users with fewest are left out until they fit. By judgement.
_MOST = 1_500_000
#: Distinct values, with one bit more in a byte each; where there are more, they are rounded to hundredths.
_DISTINCT = 100


def shown_users(trained: Trained, max_users: int) -> Rows:
    """Return the users with most observations, in the order of their rows."""
    counts = trained.user_counts
    busiest = np.argsort(-counts, kind="stable")[: min(max_users, int((counts > 0).sum()))]
    fit = int(np.searchsorted(np.cumsum(counts[busiest]), _MOST, side="right"))
    return np.sort(busiest[: max(fit, 1)])


def users(trained: Trained, rows: Rows, fresh: Observations) -> dict[str, Any]:
    """Describe users: names, and their ratings in training and beyond it."""
    names = shown_names(trained.users)
    place = np.full(len(trained.users) + 1, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    parts = [_entries(trained, trained.training, place, 0), _entries(trained, fresh, place, 1)]
    user, item, value, late = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((item, user))
    user, item, value, late = user[order], item[order], value[order], late[order]
    values, codes = _coded(value)
    return {
        "names": [names[row] for row in rows.tolist()],
        "counts": np.bincount(user, minlength=len(rows)).tolist(),
        "gaps": varints(_gaps(user, item)),
        "values": values,
        "small": len(values) <= 8,
        "codes": nibbles(2 * codes + late) if len(values) <= 8 else as_text((2 * codes + late).astype(np.uint8)),
    }


def _entries(trained: Trained, observations: Observations, place: Rows, late: int) -> tuple[Rows, Rows, Floats, Rows]:
    user, item = entry_rows(trained.training, observations)
    user = place[user]
    known = (user >= 0) & (item >= 0)
    return user[known], item[known], observations.values[known], np.full(int(known.sum()), late, dtype=np.int64)


def _gaps(user: Rows, item: Rows) -> Rows:
    """Return how many items lie between a rating and the one before it of the same user."""
    before = np.concatenate([[-1], item[:-1]])[: len(item)]
    first = np.concatenate([[True], user[1:] != user[:-1]])[: len(item)]
    return item - np.where(first, -1, before) - 1


def _coded(value: Floats) -> tuple[list[float], Rows]:
    _, first, codes = np.unique(value.round(6), return_index=True, return_inverse=True)
    values = value[first]
    if len(values) > _DISTINCT:
        values, codes = np.unique(value.round(2), return_inverse=True)
    return values.tolist(), codes.astype(np.int64)
