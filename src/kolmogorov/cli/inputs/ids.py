"""Ids and titles that are typed on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kolmogorov.data import Vocabulary


def known_id(names: Vocabulary, text: str, what: str, unknown: str = "error") -> Any:
    """Read an id or a title; one that the model does not know is an error that names those most like it."""
    from kolmogorov._support.wording import advice, option
    from kolmogorov.errors import UnknownIdError

    found = names.parse(text)
    if unknown == "error" and names.encode([found], what)[0] < 0:
        remedy = advice("{} uses the average instead.", option("unknown", "average"))
        alike = names.suggestion(text)
        raise UnknownIdError(f"The model has no data on {what} {found!r}.{alike}" + remedy)
    return found
