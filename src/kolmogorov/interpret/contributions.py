"""Why a probability is what it is: the share that each event brings, and the rules that lead to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.markup import bars, card, table
from kolmogorov._support.optional import to_frame
from kolmogorov._support.wording import shown
from kolmogorov.fitting.fitted import Fitted
from kolmogorov.interpret.answers import check_likes
from kolmogorov.interpret.events import describe
from kolmogorov.interpret.reasons import Reason, reasons_for
from kolmogorov.plot.explanation import draw_explanation
from kolmogorov.plot.palette import colour
from kolmogorov.sampling.posterior import Posterior
from kolmogorov.surface.ids import Unknown, id_of, rows_of

#: Reasons that an explanation names when printed, and the least amount of an event that it names.
_SHOWN, _LITTLE = 3, 0.0005


@dataclass(frozen=True)
class Contribution:
    """What one event adds to a probability: theta_ud * psi_id.

    Attributes
    ----------
    event : int
    theta : float
        The user's probability of the event.
    psi : float
        1 where the item happens in the event, 0 where not, and in a many-valued model its value there; in between for
        the average over items.
    amount : float
    items : tuple of str
        The event's most telling items.
    """

    event: int
    theta: float
    psi: float
    amount: float
    items: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Explanation:
    """The probability of one (user, item), taken apart.

    Attributes
    ----------
    user, item : id
    user_name, item_name : str
        For people: the title where there is one.
    probability : float
    rating : float
        The same in rating units.
    events : tuple of Contribution
        Largest amount first.
    reasons : tuple of Reason
        Rules from what the user is known to like to the item, the strongest first.
    graded : bool
        Whether the model is many-valued: the probability is then an expected rating on the scale from 0 to 1.

    Examples
    --------
    >>> import kolmogorov as km
    >>> model = km.KolmogorovModel(5, user_reg=0.3, n_init=10, random_state=0).fit(km.datasets.load("zoo"))
    >>> why = model.explain("dove", "eggs")
    >>> print(why.reasons[0])
    feathers ⇒ eggs (held for 20 of 20; of all, 58%)
    """

    user: Any
    item: Any
    user_name: str
    item_name: str
    probability: float
    rating: float
    events: tuple[Contribution, ...]
    reasons: tuple[Reason, ...] = ()
    graded: bool = False

    @property
    def contributions(self) -> NDArray[np.float64]:
        """Amount by event number; they sum to the probability, before it is cut to the scale."""
        amounts = {part.event: part.amount for part in self.events}
        return np.array([amounts[number] for number in range(len(amounts))])

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame with one row per event, largest contribution first."""
        columns = {
            "event": [part.event for part in self.events],
            "theta": [part.theta for part in self.events],
            "psi": [part.psi for part in self.events],
            "contribution": [part.amount for part in self.events],
            "items": [", ".join(part.items) for part in self.events],
        }
        return to_frame(columns, backend)

    @property
    def sentence(self) -> str:
        """What is explained, in one line."""
        if self.graded:
            return f"{shown(self.user_name)} is expected to give {shown(self.item_name)} a rating of {self.rating:.2f}"
        rating = "" if np.isclose(self.rating, self.probability) else f", as a rating {self.rating:.2f}"
        names = f"{shown(self.user_name)} says yes to {shown(self.item_name)}"
        return f"{names} with probability {self.probability:.3f}{rating}"

    def __str__(self) -> str:
        lines = [self.sentence]
        lines += [
            f"  {part.amount:.3f} from event {part.event}: {self._value(part)}{shown(', '.join(part.items))}"
            for part in self.events
            if abs(part.amount) > _LITTLE
        ]
        if self.reasons:
            lines.append("Rules that lead to it, and how often they held in the training data:")
        lines += [f"  {reason}" for reason in self.reasons[:_SHOWN]]
        return "\n".join(lines)

    def _value(self, part: Contribution) -> str:
        """Say how high the item is in an event, where that differs, as a share of the scale and of the user."""
        return f"{part.psi:.2f} × {part.theta:.2f}; " if self.graded else ""

    def __repr__(self) -> str:
        return f"<{self}>"

    def _repr_html_(self) -> str:
        parts = [part for part in self.events if part.amount > _LITTLE]
        events = bars(
            [", ".join(part.items[:3]) for part in parts],
            [part.amount for part in parts],
            [f"{part.amount:.3f} from event {part.event}" for part in parts],
            [colour(part.event) for part in parts],
        )
        reasons = [str(reason) for reason in self.reasons[:_SHOWN]]
        return card(self.sentence, events, table({"rules that lead to it": reasons}) if reasons else "")

    def plot(self, ax: Any = None) -> Any:
        """Draw what each event adds as one stacked bar (extra `plot`): Axes in, Axes out."""
        names = [", ".join(part.items[:3]) for part in self.events]
        events, amounts = [part.event for part in self.events], [part.amount for part in self.events]
        return draw_explanation(self.sentence, events, amounts, names, ax)


def explain(
    fitted: Fitted | Posterior, user: Any, item: Any, unknown: Unknown = "error", likes: float = 0.6, n_items: int = 5
) -> Explanation:
    """Take the probability of (user, item) apart into what each event brings, and find the rules that lead to it."""
    check_likes("explain", likes)
    user, item = id_of(fitted.users, user, "user"), id_of(fitted.items, item, "item")
    user_row = int(rows_of(fitted.users, fitted.user_seen, [user], "user", unknown)[0])
    item_row = int(rows_of(fitted.items, fitted.item_seen, [item], "item", unknown)[0])
    theta, amounts = fitted.contributions(user_row, item_row)
    psi = np.divide(amounts, theta, out=np.zeros_like(theta), where=theta > 0.0)
    parts = [
        Contribution(event.number, float(theta[d]), float(psi[d]), float(amounts[d]), event.items)
        for d, event in enumerate(describe(fitted.consensus, n_items))
    ]
    probability = float(np.clip(amounts.sum(), 0.0, 1.0))
    return Explanation(
        user=user,
        item=item,
        user_name=fitted.users.name(user_row) if user_row < len(fitted.users) else f"{user} (unknown)",
        item_name=fitted.items.name(item_row) if item_row < len(fitted.items) else f"{item} (unknown)",
        probability=probability,
        rating=fitted.scale.rating(probability),
        events=tuple(sorted(parts, key=lambda part: -part.amount)),
        reasons=_reasons(fitted.consensus, user_row, item_row, likes),
        graded=fitted.levels is not None,
    )


def _reasons(fitted: Fitted, user: int, item: int, likes: float) -> tuple[Reason, ...]:
    """Find what the user is known to like whose support lies inside the item's."""
    if user >= len(fitted.users) or item >= len(fitted.items):
        return ()
    ids = fitted.items.ids
    return tuple(
        Reason(**vars(rule), item=ids[[row]].tolist()[0], value=value)
        for found in reasons_for(fitted, np.array([user]), np.array([item]), likes)
        for row, value, rule in zip(found.rules.antecedent, found.value.tolist(), found.rules, strict=True)
    )
