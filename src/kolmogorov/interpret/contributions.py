"""Why a probability is what it is: the share that each event brings, and the rules that lead to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.optional import to_frame
from kolmogorov.fitting.fitted import Fitted
from kolmogorov.interpret.events import describe
from kolmogorov.interpret.evidence import Ballot, check_likes, judged, says_yes
from kolmogorov.sampling.posterior import Posterior
from kolmogorov.surface.ids import Unknown, rows_of

#: Reasons that an explanation names when printed.
_SHOWN = 3


@dataclass(frozen=True)
class Contribution:
    """What one event adds to a probability: theta_ud * psi_id.

    Attributes
    ----------
    event : int
    theta : float
        The user's probability of the event.
    psi : float
        1 where the item happens in the event, 0 where not; in between only for the average over items.
    amount : float
    items : tuple of str
        The event's most telling items.
    """

    event: int
    theta: float
    psi: float
    amount: float
    items: tuple[str, ...]


@dataclass(frozen=True)
class Reason:
    """A rule from something the user is known to like to the item explained.

    Attributes
    ----------
    item : id
    name : str
    value : float
        What the user said to it, on the probability scale.
    support, held : int
        Among users trained on who said yes to it and were observed with the item explained, and those who said yes.
    base_rate : float
        Share of yes to the item explained among all users trained on.
    """

    item: Any
    name: str
    value: float
    support: int
    held: int
    base_rate: float

    @property
    def confidence(self) -> float:
        """Share of cases in which the rule held."""
        return self.held / self.support if self.support else float("nan")


@dataclass(frozen=True)
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
        What the user is known to like and implies the item by its support, the best supported first.
    """

    user: Any
    item: Any
    user_name: str
    item_name: str
    probability: float
    rating: float
    events: tuple[Contribution, ...]
    reasons: tuple[Reason, ...] = ()

    @property
    def contributions(self) -> NDArray[np.float64]:
        """Amount by event number; they sum to the probability."""
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

    def __str__(self) -> str:
        lines = [f"Pr({self.user_name} says yes to {self.item_name}) = {self.probability:.3f}"]
        lines += [
            f"  {part.amount:.3f}  event {part.event}: {', '.join(part.items)}"
            for part in self.events
            if part.amount > 0.0005
        ]
        lines += [
            f"  because yes to {reason.name} implies it (held for {reason.held} of {reason.support} users trained on; "
            f"of all, {reason.base_rate:.0%} said yes)"
            for reason in self.reasons[:_SHOWN]
        ]
        return "\n".join(lines)


def explain(
    fitted: Fitted | Posterior, user: Any, item: Any, unknown: Unknown = "error", likes: float = 0.6, n_items: int = 5
) -> Explanation:
    """Take the probability of (user, item) apart into what each event brings, and find the rules that lead to it."""
    check_likes(likes)
    user_row = int(rows_of(fitted.users, fitted.user_seen, [user], "user", unknown)[0])
    item_row = int(rows_of(fitted.items, fitted.item_seen, [item], "item", unknown)[0])
    theta, amounts = fitted.contributions(user_row, item_row)
    psi = np.divide(amounts, theta, out=np.zeros_like(theta), where=theta > 0.0)
    parts = [
        Contribution(event.number, float(theta[d]), float(psi[d]), float(amounts[d]), event.items)
        for d, event in enumerate(describe(fitted.consensus, n_items))
    ]
    probability = float(amounts.sum())
    return Explanation(
        user=user,
        item=item,
        user_name=fitted.users.name(user_row) if user_row < len(fitted.users) else f"{user} (unknown)",
        item_name=fitted.items.name(item_row) if item_row < len(fitted.items) else f"{item} (unknown)",
        probability=probability,
        rating=fitted.scale.rating(probability),
        events=tuple(sorted(parts, key=lambda part: -part.amount)),
        reasons=_reasons(fitted.consensus, user_row, item_row, likes),
    )


def _reasons(fitted: Fitted, user: int, item: int, likes: float) -> tuple[Reason, ...]:
    """Find what the user is known to like whose support lies inside the item's."""
    if user >= len(fitted.users) or item >= len(fitted.items) or not fitted.item_seen[item] or fitted.psi[item].all():
        return ()
    answers = fitted.answers_of(user)
    liked = says_yes(answers, likes)
    rows = fitted.seen_by(user)[liked].astype(np.int64)
    values = answers[liked]
    inside = fitted.psi[rows].any(axis=1) & ~(fitted.psi[rows] & ~fitted.psi[item]).any(axis=1) & (rows != item)
    rows, values = rows[inside], values[inside]
    ballot = Ballot(fitted.items, fitted.training, likes)
    rules = judged(ballot, fitted.items, "implication", rows, np.full(len(rows), item), True, True)
    strength = np.nan_to_num(rules.strength, nan=-np.inf)
    return tuple(
        Reason(
            fitted.items.ids[[rows[k]]].tolist()[0],
            fitted.items.name(int(rows[k])),
            float(values[k]),
            int(rules.support[k]),
            int(rules.held[k]),
            float(rules.base_rate[k]),
        )
        for k in np.lexsort((rows, -strength))
    )
