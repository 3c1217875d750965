"""What a reader should know before believing anything."""

from __future__ import annotations

import numpy as np

from kolmogorov.data import Observations
from kolmogorov.fitted.point import Fitted
from kolmogorov.interpret import Relations
from kolmogorov.report.quality import Test
from kolmogorov.report.subject import Subject
from kolmogorov.sampling.convergence import convergence_of

#: Fewer training observations than this say little about an item or a user. By judgement.
LITTLE = 5
#: An event with a smaller share of the population hardly happens. By judgement.
_RARE = 0.005
#: What an item is in all events, to rounding.
_SAME = 1e-6


def alerts(
    model: Subject,
    fitted: Fitted,
    relations: Relations,
    test: Test | str,
    whole: Observations,
    nouns: dict[str, list[str]],
) -> list[str]:
    """Return sentences, the gravest first."""
    found = []
    if not isinstance(test, str) and test.refitted:
        found.append("All given data was used for training: rules look better here than they are.")
    extent = whole.extent()
    if extent is not None and extent[0] == extent[1]:
        found.append('The data holds no "no": errors and counts of rules say little here.')
    if model._has_draws:
        agreement = convergence_of(model.fitted_)
        if agreement.rhat.size and not agreement.settled:
            found.append(
                "The chains found different solutions: averages are usable, events and rules may not be. More chains "
                'improve the average; a longer burn_in or fewer events bring them together. "Settings and fit" has the '
                "numbers."
            )
    for noun, counts in (
        (nouns["item"], fitted.item_counts),
        (nouns["user"], fitted.user_counts),
    ):
        little = int(((counts > 0) & (counts < LITTLE)).sum())
        if little:
            share = little / max(int((counts > 0).sum()), 1)
            has = "has" if little == 1 else "have"
            found.append(f"{_counted(little, noun)} ({_percent(share)}) {has} fewer than {LITTLE} observations.")
    found += _trivial(fitted, relations, nouns["item"])
    rare = int((fitted.population < _RARE).sum())
    if rare:
        found.append(
            f"{rare} event{'s' if rare > 1 else ''} hardly ever happen{'' if rare > 1 else 's'}: try fewer events."
        )
    if not relations.counts["implication"] and not relations.counts["equivalence"]:
        found.append("The model has no implications: no item's events are all events of another.")
    if whole.is_binary and np.mean(whole.values) > 0.97:
        found.append(f'{np.mean(whole.values):.0%} of the answers are yes: guessing "yes" everywhere is hard to beat.')
    return found


def _trivial(fitted: Fitted, relations: Relations, noun: list[str]) -> list[str]:
    """Name items that are the same in every event; one that merely reaches a yes in none of them is not."""
    found = []
    same = np.ptp(fitted.psi.astype(np.float64), axis=1) < _SAME
    for rows, where in ((relations.always, "every event"), (relations.never, "no event")):
        number = int(same[rows].sum())
        if number:
            verb = "happens" if number == 1 else "happen"
            found.append(f"{_counted(number, noun)} {verb} in {where}: the prediction is the same for everyone.")
    return found


def _percent(share: float) -> str:
    return "less than 1%" if 0.0 < share < 0.01 else f"{share:.0%}"


def _counted(number: int, noun: list[str]) -> str:
    return f"{number:,} {noun[0 if number == 1 else 1]}"
