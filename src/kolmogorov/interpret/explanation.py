"""Why a prediction, or a place in a list, is what it is: a sum over events, and what the user's own items add."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.display import bars, card, note, shown
from kolmogorov._support.outside import to_frame
from kolmogorov._support.typing import Floats
from kolmogorov.data import Scale
from kolmogorov.data.observations import reaching
from kolmogorov.data.view import View
from kolmogorov.descent import placing
from kolmogorov.descent.fitted import Fitted
from kolmogorov.draws.posterior import Posterior
from kolmogorov.errors import DataError
from kolmogorov.interpret.attributes import ByAttributes, by_attributes
from kolmogorov.interpret.events import GREY, MARK, Event, EventItems, colour, shortened
from kolmogorov.interpret.relations import Relations
from kolmogorov.interpret.rules import FLAGS, Rule, Rules, check_likes
from kolmogorov.models.ids import Unknown, id_of, observations_of, pair_rows, rows_of
from kolmogorov.models.lists import FittedLists

#: Reasons and items of an event that are named, by judgement; and the least difference: half of what is printed last.
_SHOWN, _ITEMS, LITTLE = 3, 5, 0.0005
#: Of lists: causes named in a sentence, and parts shown one by one; attributes that are named. By judgement.
_CAUSES, _PARTS, _MOST_ATTRIBUTES = 2, 12, 5
#: Letters of a title that names an event; what names it has at most twice as many. By judgement.
_LONGEST = 44


@dataclass(frozen=True, kw_only=True)
class Reason(Rule):
    """A rule from something that a user is known to like to an item, counted on the training data.

    Attributes
    ----------
    item : id
        What the user likes; its name is the rule's antecedent.
    value : float
        What the user said to it, on the probability scale.
    """

    item: Any
    value: float


@dataclass(frozen=True)
class Contribution:
    """By how much one event sets a user's prediction apart: (theta_ud - mean theta_d) psi_id.

    Attributes
    ----------
    event : int
    theta : float
        The user's probability of the event.
    share : float
        Everybody's, on average.
    psi : float
        What the item is in the event: 1 where it happens, 0 where not; of soft psi its chance there.
    amount : float
    items : tuple of str
        What names the event.
    users : tuple of str
        Those who are most in it, where users have names.
    label : str
        What the event is called where it is a level, or where another sample does not have it: nothing else is said of
        such an event.
    """

    event: int
    theta: float
    share: float
    psi: float
    amount: float
    items: tuple[str, ...]
    users: tuple[str, ...] = ()
    label: str = ""

    @property
    def name(self) -> str:
        """What the user is more or less of than most: the event by its number, who is in it and what names it."""
        more = "more" if self.theta >= self.share else "less"
        if self.label:
            return f"{more} than most of {self.label}"
        words: list[str] = []
        for item in self.items:
            words.append(shortened(item, _LONGEST))
            if len(words) > 1 and len(", ".join(words)) > (1 if self.users else 2) * _LONGEST:
                words.pop()
                break
        who = f" ({', '.join(shortened(user, _LONGEST // 2) for user in self.users)})" if self.users else ""
        return f"{more} than most of event {self.event}{who}" + (f": {', '.join(words)}" if words else "")


@dataclass(frozen=True)
class ItemContribution:
    """By how much one of a user's items speaks for another.

    Attributes
    ----------
    item : id
    name : str
    weight : float
        Of the link between the two.
    amount : float
        The weight times what the item was to the user, times the share of links in a score.
    """

    item: Any
    name: str
    weight: float
    amount: float


@dataclass(frozen=True, repr=False)
class Explanation:
    """What is predicted for one (user, item), or its score in a list, taken apart; ``print`` says it in words.

    Attributes
    ----------
    user, item : id
        The user is "guest" where one was given.
    user_name, item_name : str
        For people: the title where there is one.
    base : float
        What is predicted for somebody of whom nothing is known.
    events : tuple of Contribution
        Levels ("rates low") first, and then the largest difference, up or down.
    items : tuple of ItemContribution
        Of lists: what each item that the user has adds, largest amounts first.
    rest : float
        Of draws, what their average says beyond the one model that they are read by; of a single model, nothing.
    probability, rating : float
        Base, differences and rest together: what is predicted, and the same in rating units.
    score : float
        Of lists the sum: what they are ordered by, neither a probability nor a rating.
    reasons : tuple of Reason
        Supported rules from what the user is known to like to the item, the strongest first, where they speak for what
        is predicted.
    scale : Scale
        Between probabilities and ratings.
    binary : bool
        Whether answers are yes and no, so that predictions are chances.
    attributes : ByAttributes or None
        The same prediction by attributes, where these are all that is known of the user or of the item: what an average
        one would get, a difference for each, and the rest.

    Examples
    --------
    >>> import kolmogorov as km
    >>> model = km.KolmogorovModel(5, random_state=0).fit(km.datasets.load("zoo"))
    >>> why = model.explain("dove", "eggs")
    >>> bool(np.isclose(why.base + why.contributions.sum() + why.rest, model.predict("dove", "eggs")))
    True
    """

    user: Any
    item: Any
    user_name: str
    item_name: str
    base: float
    events: tuple[Contribution, ...]
    items: tuple[ItemContribution, ...] = ()
    rest: float = 0.0
    probability: float = float("nan")
    rating: float = float("nan")
    score: float = float("nan")
    reasons: tuple[Reason, ...] = ()
    scale: Scale = Scale(0.0, 1.0)  # noqa: RUF009 - immutable
    binary: bool = True
    attributes: ByAttributes | None = None

    @property
    def contributions(self) -> NDArray[np.float64]:
        """Differences by event number."""
        return np.array([part.amount for part in sorted(self.events, key=lambda part: part.event)])

    @property
    def said(self) -> dict[str, float]:
        """What is explained, by its names."""
        found = {"probability": self.probability, "rating": self.rating, "score": self.score}
        return {name: float(value) for name, value in found.items() if not isnan(value)}

    def columns(self) -> dict[str, list[Any]]:
        """Return what is added up as columns: what everybody would get, every item and every event, and the rest."""
        parts: list[Any] = [*self.items, *self.events]
        names = [*(f"item {part.name}" for part in self.items), *(f"event {part.event}" for part in self.events)]
        columns: dict[str, list[Any]] = {"part": ["everybody", *names, "rest"]}
        columns["amount"] = [self.base, *(part.amount for part in parts), self.rest]
        for name in (*(["weight"] if self.items else []), "theta", "share", "psi"):
            columns[name] = [float("nan"), *(getattr(part, name, float("nan")) for part in parts), float("nan")]
        return columns | {"items": ["", *(", ".join(getattr(part, "items", ())) for part in parts), ""]}

    def to_frame(self, backend: str | None = None) -> Any:
        """Return `columns` as a data frame."""
        return to_frame(self.columns(), backend)

    @property
    def sentence(self) -> str:
        """What is explained, in one line; of lists with the strongest causes."""
        user, item = shown(self.user_name), shown(self.item_name)
        if isnan(self.score):
            if self.binary:
                return f"{user} says yes to {item} with probability {self.probability:.3f}"
            return f"{user} is expected to give {item} a rating of {self.rating:.2f}"
        items = [shown(part.name) for part in self.items if part.amount > LITTLE][:_CAUSES]
        events = [f"event {part.event}" for part in self.events if part.amount > LITTLE][:_CAUSES]
        told = "; ".join(f"because of {' and '.join(names)}" for names in (items, events) if names)
        return f"{item} for {user}, score {self.score:.3f}: {told or 'nothing that they have speaks for it'}"

    @property
    def _told(self) -> list[Contribution | ItemContribution]:
        """The parts that are told one by one."""
        if isnan(self.score):
            return [part for part in self.events if abs(part.amount) > LITTLE]
        parts: list[Any] = [*self.items, *self.events]
        return [
            part for part in sorted(parts, key=lambda part: -abs(part.amount))[:_PARTS] if abs(part.amount) > LITTLE
        ]

    @property
    def steps(self) -> list[tuple[str, float]]:
        """From what everybody would get to what is explained, in the units that people read: names and amounts."""
        told, unit, listed = self._told, self._unit, not isnan(self.score)
        every: list[Any] = [*self.items, *self.events]
        others = sum(part.amount for part in every) - sum(part.amount for part in told)
        rest = [("all others" if listed else "other events", others), ("what the draws say beyond", self.rest)]
        least = 0.0 if listed else LITTLE
        parts = [*((part.name, part.amount) for part in told), *(one for one in rest if abs(one[1]) > least)]
        return [("everybody", self._in_units(self.base)), *((name, unit * amount) for name, amount in parts)]

    @property
    def colours(self) -> list[str]:
        """Of each step: events have their own, all else is grey."""
        told = [colour(part.event) if isinstance(part, Contribution) else GREY for part in self._told]
        return [GREY, *told, *[GREY] * (len(self.steps) - len(told) - 1)]

    @property
    def attributes_sentence(self) -> str:
        """What attributes moved the prediction, the largest first; empty where they are not all that is known."""
        if self.attributes is None:
            return ""
        digits, unit, parts = 3 if self.binary else 2, self._unit, self.attributes.parts
        least = 0.5 * 10**-digits
        told = [part for part in parts if abs(unit * part.amount) >= least][:_MOST_ATTRIBUTES]
        names, sides = {"users": self.user_name, "items": self.item_name}, {part.side for part in parts}
        whom = " and ".join(shown(name) for side, name in names.items() if side in sides) or "it"
        moved = ", ".join(f"{unit * part.amount:+.{digits}f} {shown(part.words)}" for part in told) or "nothing"
        rest = self.probability - self.attributes.base - sum(part.amount for part in told)
        more = f", {unit * rest:+.{digits}f} all else" if abs(unit * rest) >= least else ""
        base = self._in_units(self.attributes.base)
        return f"Only attributes are known of {whom}. From {base:.{digits}f} of an average one: {moved}{more}."

    @property
    def _unit(self) -> float:
        return 1.0 if self.binary else self.scale.span

    def _in_units(self, probability: float) -> float:
        return float(probability if self.binary else self.scale.rating(probability))

    def plot(self, ax: Any = None) -> Any:
        """Draw the way from what everybody would get to what is explained as a waterfall (extra `plot`)."""
        from kolmogorov.interpret.plot import waterfall

        return waterfall(self.sentence, self.steps, self.colours, ax)

    def _lines(self) -> tuple[str, list[tuple[str, float, str]], list[str]]:
        """Return the first amount, all others with their names, and what stands beside the sum, in lines."""
        digits, more = 3 if self.binary else 2, [self.attributes_sentence] if self.attributes_sentence else []
        if self.reasons:
            more.append("Rules that lead to it, and how often they held in the training data:")
        more += [f"  {reason}" for reason in self.reasons[:_SHOWN]]
        (_, base), *steps = self.steps
        return f"{base:.{digits}f}", [(name, amount, f"{amount:+.{digits}f}") for name, amount in steps], more

    def __str__(self) -> str:
        base, steps, more = self._lines()
        # What rounds to nothing is left out.
        told = [f"  {words} {shown(name)}" for name, _, words in steps if float(words) != 0.0]
        return "\n".join([self.sentence, f"   {base} everybody", *told, *more])

    def __repr__(self) -> str:
        return f"<{self}>"

    def _repr_html_(self) -> str:
        base, steps, more = self._lines()
        names, amounts, words = zip(*steps, strict=True) if steps else ((), (), ())
        drawn = bars(names, amounts, words, self.colours[1:])
        return card(self.sentence, note(f"{base} is what everybody would get; then"), drawn, *map(note, more))


def contributions(read: Fitted, theta: Any, psi: Any, events: list[Event], unit: float = 1.0) -> list[Contribution]:
    """Return by how much each event sets a theta apart from the population's: levels first, then by size."""
    share = read.population
    # Nothing is written as 0, not as -0.
    amounts = unit * (theta - share) * psi + 0.0
    columns = (column.tolist() for column in (theta, share, psi, amounts))
    parts = []
    for event, own, usual, chance, amount in zip(events, *columns, strict=True):
        label = f"event {event.number} {MARK}" if event.name.endswith(MARK) else ""
        label = f"'{event.name}'" if event.is_level else label
        parts.append(Contribution(event.number, own, usual, chance, amount, event.items, event.users, label))
    levels = {event.number: event.is_level for event in events}
    return sorted(parts, key=lambda part: (not levels[part.event], -abs(part.amount)))


def explain(
    fitted: Fitted | Posterior,
    read: Fitted,
    user: Any,
    item: Any,
    unknown: Unknown = "error",
    likes: float | None = None,
    *,
    with_reasons: bool = True,
) -> Explanation:
    """Take the prediction for (user, item) apart: what everybody would get, a difference per event, and the rest.

    `read` is the one model whose events are named: `fitted` itself, or of draws the one that stands for them. Rules are
    counted on the whole table; without `with_reasons` they are left out.
    """
    likes = fitted.likes if likes is None else likes
    check_likes("explain", likes)
    user, item = id_of(fitted.users, user, "user"), id_of(fitted.items, item, "item")
    rows, _ = pair_rows(fitted, [user], [item], unknown)
    user_row, item_row = int(rows[0][0]), int(rows[1][0])
    psi = read.psi_or_average[item_row]
    parts = contributions(read, read.theta_or_population[user_row], psi, _named_events(read))
    amounts = np.array([part.amount for part in sorted(parts, key=lambda part: part.event)])
    base = float(read.population @ psi)
    probability = float(fitted.at_rows(np.array([user_row]), np.array([item_row]))[0])
    return Explanation(
        user=user,
        item=item,
        user_name=fitted.users.name(user_row) if user_row < len(fitted.users) else f"{user} (unknown)",
        item_name=fitted.items.name(item_row) if item_row < len(fitted.items) else f"{item} (unknown)",
        base=base,
        events=tuple(parts),
        rest=probability - base - float(amounts.sum()),
        probability=probability,
        rating=fitted.scale.rating(probability),
        # A rule to a yes is no reason for less than everybody would get.
        reasons=_reasons(read, user_row, item_row, likes) if with_reasons and probability >= base else (),
        scale=fitted.scale,
        binary=fitted.training.is_binary,
        attributes=by_attributes(read, user_row, item_row, probability),
    )


def _reasons(fitted: Fitted, user: int, item: int, likes: float) -> tuple[Reason, ...]:
    """Return the rules from what a user (row number) likes to an item, the strongest first."""
    if user >= len(fitted.users) or item >= len(fitted.items) or not fitted.item_seen[item]:
        return ()
    rows = fitted.training.rows
    part = slice(rows.indptr[user], rows.indptr[user + 1])
    said = dict(zip(rows.indices[part].tolist(), rows.values[part].tolist(), strict=True))
    kept = fitted.kept.setdefault("rules", {})
    if likes not in kept:
        kept[likes] = Relations(fitted, likes=likes).rules()
    rules: Rules = kept[likes]
    liked = [row for row, value in said.items() if reaching(value, likes)]
    rules = rules[(rules.consequent == item) & np.isin(rules.antecedent, liked) & FLAGS[rules.code].all(axis=1)]
    return tuple(
        Reason(**vars(rule), item=fitted.items.ids[row], value=said[row])
        for rule, row in zip(rules, rules.antecedent.tolist(), strict=True)
    )


def _named_events(read: Fitted) -> list[Event]:
    """Return the events by what names them; they are kept, since naming goes over the whole table."""
    if "named events" not in read.kept:
        read.kept["named events"] = EventItems(read).events(_ITEMS, n_users=_SHOWN if read.users.are_names else 0)
    found: list[Event] = read.kept["named events"]
    return found


def explain_list(
    fitted: FittedLists, placed: Callable[[View], Floats], user: Any, item: Any, guest: Any, unknown: Unknown
) -> Explanation:
    """Take the score of an item for a user, or for a guest, whose theta `placed` returns, apart."""
    if item is None or (user is None) == (guest is None):
        raise DataError("Give an item, and a user or a guest.")
    item = id_of(fitted.items, item, "item")
    events, balance = fitted.events, fitted.settings.balance
    if guest is not None:
        row = int(rows_of(fitted.items, fitted.item_known, [item], "item", unknown)[0])
        view = placing.view_of(events, observations_of(fitted, [guest]), "users")
        user, name, partners, values, theta = "guest", "the guest", view.indices, view.values, placed(view)[0]
    else:
        user, rows = id_of(fitted.users, user, "user"), fitted.training.rows
        (places, found), _ = pair_rows(fitted, [user], [item], unknown)
        place, row = int(places[0]), int(found[0])
        there = place < len(fitted.users)
        mine = slice(rows.indptr[place], rows.indptr[place + 1]) if there else slice(0)
        name = fitted.users.name(place) if there else f"{user} (unknown)"
        partners, values, theta = rows.indices[mine], rows.values[mine], events.theta_or_population[place]
    known = row < len(fitted.items)
    weights = fitted.links.into(row)[partners] if known else np.zeros(partners.size)
    amounts = (1.0 - balance) * weights * values + 0.0
    items = [
        ItemContribution(fitted.items.ids[partner], fitted.items.name(partner), weight, amount)
        for partner, weight, amount in zip(partners.tolist(), weights.tolist(), amounts.tolist(), strict=True)
    ]
    psi = events.psi_or_average[row]
    told = contributions(events, theta, psi, EventItems(events).events(_ITEMS, 0), balance)
    base = balance * float(events.population @ psi)
    apart = np.array([part.amount for part in sorted(told, key=lambda part: part.event)])
    return Explanation(
        user=user,
        item=item,
        user_name=name,
        item_name=fitted.items.name(row) if known else f"{item} (unknown)",
        base=base,
        items=tuple(sorted(items, key=lambda part: -abs(part.amount))),
        events=tuple(told),
        score=base + float(amounts.sum()) + float(apart.sum()),
    )
