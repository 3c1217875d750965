"""Attributes: what they mean for events, and what moved a prediction of somebody or something new."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.data.attributes import Attribute, Side
from kolmogorov.descent.attributes import Placing
from kolmogorov.descent.fitted import Fitted

#: The least difference of chances that an event is described by. By judgement.
_LITTLE = 0.02


@dataclass(frozen=True)
class EventAttribute:
    """What an attribute means for an event; `event_attributes` of a model says what effect, low and high are."""

    event: int
    side: Side
    #: The column, and the category; in words "more Animation (genres)", "lower age".
    attribute: str
    words: str
    effect: float
    low: float
    high: float

    @property
    def is_sure(self) -> bool:
        """Whether the draws agree on its direction."""
        return self.low > 0.0 or self.high < 0.0


def event_attributes(read: Fitted) -> list[EventAttribute]:
    """Return what every attribute means for every event of a model, the largest effects of an event first."""
    found: list[EventAttribute] = []
    for side, placing in _placings(read):
        row = 0
        for column in placing.columns:
            unit = 1.0 if column.kind == "number" else 1.0 / column.scale
            for name in column.columns:
                for event, (effect, low, high) in enumerate((unit * placing.effects[:, row].T).tolist()):
                    words = _more(column, name.removeprefix(f"{column.name}: "), effect > 0.0)
                    found.append(EventAttribute(event, side, name, words, effect, low, high))
                row += 1
    return sorted(found, key=lambda one: (one.event, -abs(one.effect)))


def attribute_columns(read: Fitted, *, sure: bool) -> dict[str, list[Any]]:
    """Return `event_attributes` as columns; with `sure` those that the draws agree on."""
    found = [asdict(one) for one in event_attributes(read) if one.is_sure or not sure]
    return {name: [one[name] for one in found] for name in EventAttribute.__dataclass_fields__}


def telling_attributes(read: Fitted, most: int = 4) -> list[list[EventAttribute]]:
    """Return for every event what attributes mean for it, where the draws agree; the largest effects first.

    Of two categories that are each other's opposite one is named.
    """
    found: list[list[EventAttribute]] = [[] for _ in range(read.n_events)]
    every = [(side, column) for side, placing in _placings(read) for column in placing.columns]
    pairs = {
        (side, name)
        for side, column in every
        if column.kind == "category" and len(column.categories) == 2
        for name in column.columns
    }
    for one in event_attributes(read):
        opposite = one.effect < 0.0 and (one.side, one.attribute) in pairs
        if one.is_sure and abs(one.effect) >= _LITTLE and not opposite and len(found[one.event]) < most:
            found[one.event].append(one)
    return found


def _placings(read: Fitted) -> list[tuple[Side, Placing]]:
    sides: list[tuple[Side, Placing | None]] = [("items", read.item_attributes), ("users", read.user_attributes)]
    return [(side, placing) for side, placing in sides if placing is not None]


def _more(column: Attribute, category: str, more: bool) -> str:
    if column.kind == "number":
        return f"{'higher' if more else 'lower'} {column.name}"
    of = f" ({column.name})" if column.categories else ""
    return f"{'more' if more else 'fewer'} {category}{of}"


@dataclass(frozen=True)
class AttributePart:
    """By how much one attribute of a new user or item moves a prediction."""

    side: Side
    #: Its column, and what it is: "War (genres)", "no other genres", "nurse (job)", "age 31".
    attribute: str
    words: str
    amount: float


@dataclass(frozen=True)
class ByAttributes:
    """A prediction of which attributes are all that is known on one side or both.

    Attributes
    ----------
    base : float
        What an average one would get.
    parts : tuple of AttributePart
        Largest difference first, up or down.
    rest : float
        What the values that items may take, the scale, or the draws change.
    """

    base: float
    parts: tuple[AttributePart, ...]
    rest: float


def by_attributes(read: Fitted, user: int, item: int, probability: float) -> ByAttributes | None:
    """Take a prediction apart by the attributes of its user and item (rows); None where both were observed.

    Where both are new, what one side changes depends on the other: it is the mean of what it changes before the other
    side's attributes are known and after.
    """
    rows: dict[Side, int] = {"users": user, "items": item}
    known: dict[Side, tuple[Placing, Floats]] = {}
    for side, placing in _placings(read):
        if (values := placing.values_of(rows[side])) is not None:
            known[side] = placing, values
    if not known:
        return None
    # What a side is usually, and by its attributes.
    both: dict[Side, tuple[Floats, Floats]] = {
        "users": (read.theta_or_population[user],) * 2,
        "items": (read.psi_or_average[item],) * 2,
    }
    both |= {side: (placing.slopes[0], placing.said(values[None])[0]) for side, (placing, values) in known.items()}
    parts: list[AttributePart] = []
    for side, (placing, values) in known.items():
        usual, own = both["users" if side == "items" else "items"]
        parts += _parts(side, placing, values, placing.slopes[1:] @ ((usual + own) / 2.0))
    base = float(both["users"][0] @ both["items"][0])
    parts.sort(key=lambda part: -abs(part.amount))
    return ByAttributes(base, tuple(parts), probability - base - sum(part.amount for part in parts))


def _parts(side: Side, placing: Placing, values: Floats, effects: Floats) -> list[AttributePart]:
    """Return what each attribute changes; of one that is missing nothing is said."""
    found, first = [], 0
    for column in placing.columns:
        block = slice(first, first + len(column.columns))
        first = block.stop
        if values[block].any():
            amounts = values[block] * effects[block]
            found += [AttributePart(side, column.name, *part) for part in _worded(column, values[block], amounts)]
    return found


def _worded(column: Attribute, values: Floats, amounts: Floats) -> list[tuple[str, float]]:
    """Say what a row is by an attribute, and what that changes: of a list, each category, and all that it has not."""
    raw = values * column.scale + np.array(column.centre)
    total = float(amounts.sum())
    if column.kind == "number":
        return [(f"{column.name} {raw[0]:.4g}", total)]
    if column.kind == "boolean":
        return [(f"{'' if raw[0] > 0.5 else 'not '}{column.name}", total)]
    there = (raw > 0.5).tolist()
    has = [category for category, here in zip(column.categories, there, strict=True) if here]
    if column.kind == "category":
        return [(f"{has[0] if has else 'another'} ({column.name})", total)]
    own = [(f"{name} ({column.name})", float(amounts[column.categories.index(name)])) for name in has]
    others = f"no {'other ' if has else ''}{column.name}"
    return own if all(there) else [*own, (others, total - sum(amount for _, amount in own))]
