"""What requests and answers hold, with examples; a request of another form is refused before a model sees it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, StrictInt, StrictStr, WithJsonSchema
from pydantic_core import PydanticCustomError

#: Letters of an id or a title; by judgement.
MOST_LETTERS = 500


def _id(given: Any) -> str:
    """Return an id as text; one validator for both kinds, so that errors do not speak of each."""
    if type(given) is int and abs(given) < 2**63:
        return str(given)
    if type(given) is not str:
        raise PydanticCustomError("id", "an id is a text, or a whole number of 64 bits")
    if len(given) > MOST_LETTERS:
        raise PydanticCustomError("id", f"an id or a title has {MOST_LETTERS} letters at most")
    return given


Name = Annotated[StrictStr, Field(max_length=MOST_LETTERS)]
Id = Annotated[
    str,
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


def _with(*examples: Any) -> ConfigDict:
    return ConfigDict(extra="forbid", json_schema_extra={"examples": list(examples)})


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Problem(_Answer):
    """What is wrong, in one sentence."""

    model_config = _with({"error": "The model has no data on user 'unicorn'."})
    error: str


class _Predicted(_Answer):
    """What is predicted: a probability and a rating, of lists a score."""

    probability: float | None = Field(None, ge=0.0, le=1.0)
    rating: float | None = None
    score: float | None = Field(None, description="Of a model of lists, in place of the other two.")


class Prediction(_Predicted):
    """What is predicted of a pair."""

    user: str
    item: str
    known: bool = Field(description="Whether the model knows the user and the item; if not, it is an average one.")


class Predictions(_Answer):
    """What is predicted, in the order of the pairs."""

    model_config = _with(
        {"predictions": [{"user": "dolphin", "item": "milk", "probability": 0.93, "rating": 0.93, "known": True}]}
    )
    predictions: list[Prediction]


class Listed(_Predicted):
    """An item of a list."""

    item: str
    title: str | None = None
    lower: float | None = Field(None, description="What nine draws in ten exceed, of a model of draws.")
    count: int = Field(description="Observations of the item.")


class UserList(_Answer):
    """The list of a user."""

    user: str
    items: list[Listed]


class GuestList(_Answer):
    """The list of a guest."""

    items: list[Listed]
    left_out: list[str] = Field(description="What the guest rated and the model does not know.")


class Lists(_Answer):
    """Lists, in the order of the users or guests."""

    model_config = _with(
        {"lists": [{"user": "dolphin", "items": [{"item": "eggs", "probability": 0.1, "rating": 0.1, "count": 100}]}]},
        {"lists": [{"items": [{"item": "hair", "probability": 0.9, "rating": 0.9, "count": 101}], "left_out": []}]},
    )
    lists: list[UserList] | list[GuestList]


class Step(_Answer):
    """What one reason adds or takes away."""

    name: str
    amount: float


class Rule(_Answer):
    """A rule that leads to the prediction, and how often it held."""

    known: str
    so: str
    held: int
    of: int
    base_rate: float


class Explained(_Predicted):
    """A prediction, and the steps to it."""

    model_config = _with(
        {
            "user": "dolphin",
            "item": "milk",
            "sentence": "dolphin says yes to milk with probability 0.93",
            "probability": 0.93,
            "rating": 0.93,
            "steps": [{"name": "everybody", "amount": 0.41}, {"name": "milk, hair", "amount": 0.52}],
            "rules": [{"known": "hair", "so": "milk", "held": 39, "of": 43, "base_rate": 0.41}],
        }
    )
    user: str
    item: str
    sentence: str
    steps: list[Step] = Field(description="They add up to the rating, of lists to the score.")
    rules: list[Rule]


class Neighbour(_Answer):
    """An item like another."""

    item: str
    title: str | None = None
    similarity: float
    count: int


class Neighbours(_Answer):
    """Items most like one, the most alike first."""

    model_config = _with({"items": [{"item": "hair", "similarity": 0.88, "count": 101}]})
    items: list[Neighbour]


class Event(_Answer):
    """An event of the model."""

    number: int
    name: str
    share: float = Field(description="Of the people.")
    items: list[str]


class Events(_Answer):
    """The events."""

    model_config = _with({"events": [{"number": 0, "name": "milk, hair", "share": 0.4, "items": ["milk", "hair"]}]})
    events: list[Event]


class Item(_Answer):
    """An item of the model."""

    item: str
    title: str
    count: int


class Items(_Answer):
    """Items, those observed most often first."""

    model_config = _with({"items": [{"item": "milk", "title": "milk", "count": 101}]})
    items: list[Item]


class Ends(_Answer):
    """The ends of the scale."""

    minimum: float
    maximum: float


class Health(_Answer):
    """What is served, and whether its file is."""

    model_config = _with(
        {
            "status": "ok",
            "tag": "5b3c0f6d8f3a4a4e9a51a0b7d4a2c6e1",
            "since": 1790000000.0,
            "model": "KolmogorovModel",
            "users": 101,
            "items": 16,
            "ratings": 1616,
            "scale": {"minimum": 0.0, "maximum": 1.0},
        }
    )
    status: str = Field(description="ok; or stale, where the file has changed and the old model is served.")
    tag: str = Field(description="Of the model, as in the header ETag of answers.")
    since: float = Field(description="When the model was loaded, in seconds since 1970.")
    model: str
    users: int
    items: int
    ratings: int
    scale: Ends
    problem: str | None = Field(None, description="Why the new file is not served.")


#: What is said beside each status.
_WHY = {
    304: "The answer for the tag in If-None-Match has not changed.",
    400: "The request is no text, or its lists are nested too deep.",
    401: "The token is missing or wrong.",
    404: "The model has no data on a user or an item.",
    408: "The request did not come in within the time for it.",
    413: "The request has too many bytes.",
    415: "The request does not say that it is JSON.",
    422: "The request is no JSON, or of another form, or asks for too much at a time.",
    431: "The address and the headers have too many bytes.",
    503: "The answer took too long, or too many connections are open.",
}


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what a route may answer beside 200, for its description."""
    return {
        status: {"description": _WHY[status]} | ({} if status == 304 else {"model": Problem}) for status in statuses
    }
