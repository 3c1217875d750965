"""What users, items and answers are called on the page, and how it addresses them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kolmogorov.data import Observations, Vocabulary
from kolmogorov.errors import ParameterError

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


def addresses(vocabulary: Vocabulary) -> list[str] | None:
    """Return what links name rows by, their ids; None where these are the names."""
    return None if vocabulary.labels is None else [_cut(str(identifier)) for identifier in vocabulary.ids.tolist()]


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
