"""What requests hold, with examples; whatever is of another form is refused before a model sees it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, StrictInt, StrictStr, WithJsonSchema
from pydantic_core import PydanticCustomError

#: Letters of an id or a title; by judgement.
MOST_LETTERS = 500
#: Ids that are numbers lie between its negative and it.
_END = 2**63


def _id(given: Any) -> int | str:
    """Return an id as it came; one validator for both kinds, so that errors do not speak of each."""
    if type(given) is int and -_END <= given < _END:
        return given
    if type(given) is str and len(given) <= MOST_LETTERS:
        return given
    if type(given) is str:
        raise PydanticCustomError("id", f"an id or a title has {MOST_LETTERS} letters at most")
    raise PydanticCustomError("id", "an id is a whole number of 64 bits, or a text")


Name = Annotated[StrictStr, Field(max_length=MOST_LETTERS)]
Id = Annotated[
    int | str,
    PlainValidator(_id),
    WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": MOST_LETTERS}]}),
]
Count = Annotated[StrictInt, Field(ge=1)]
#: A number as JSON writes it: neither true nor a text.
Rating = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Predict(_Request):
    """Pairs of a user and an item."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"pairs": [["dolphin", "milk"], ["gull", "eggs"]]}]}
    )
    pairs: list[tuple[Id, Id]] = Field(min_length=1)
    strict: bool = Field(
        False, description="Whether an unknown user or item is an error; if not, it is an average one."
    )


class Recommend(_Request):
    """Known users, or guests with their ratings; one of the two."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"users": ["dolphin"], "n": 3}, {"guests": [{"milk": 1, "eggs": 0}], "n": 3}]},
    )
    users: list[Id] | None = Field(None, min_length=1)
    guests: list[dict[Name, Rating]] | None = Field(
        None, min_length=1, description="Ratings by ids or titles of items, of each guest."
    )
    n: Count = 10
    exclude_seen: bool = Field(True, description="Leave out what a user was observed with.")
    min_count: Count | None = Field(None, description="Leave out items observed fewer times.")


class Explain(_Request):
    """A user and an item."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"user": "dolphin", "item": "milk", "rules": False}]}
    )
    user: Id
    item: Id
    rules: bool = Field(False, description="Also count the rules that lead to it, which goes over the whole table.")
