"""Numbers of events, chains and sweeps that suit a table, where the user leaves them open."""

from __future__ import annotations

from dataclasses import dataclass

from kolmogorov.data import Observations

#: With the paper's two values, whatever the table.
_TWO_VALUED_EVENTS = 24
_TWO_VALUED_FEATURES = 10


@dataclass(frozen=True)
class Sizes:
    """What suits a table; see the module."""

    n_events: int
    n_chains: int
    burn_in: int
    n_samples: int
    thin: int
    n_features: int


def suited(table: Observations, *, several_values: bool, answers: bool) -> Sizes:
    """Choose by the number of ratings; `answers` where an event is drawn behind each of them.

    More ratings can tell more events apart, though slowly: twice as many at 30 times the ratings. What a chain gains by
    longer burn-in is small beyond 150 sweeps; more chains are worth more, and many ratings leave time for fewer.
    """
    n = max(len(table), 1)
    if not several_values:
        return Sizes(_TWO_VALUED_EVENTS, 4, 100, 25, 8, _TWO_VALUED_FEATURES)
    usual, low, high = (4.5, 5, 16) if answers else (8.0, 4, 32)
    n_events = _between(usual * (n / 5000.0) ** 0.2, low, high)
    n_events = min(n_events, max(2, min(table.n_users, table.n_items)))
    return Sizes(
        n_events=n_events,
        n_chains=8 if n < 300_000 else 4,
        burn_in=150 if n < 300_000 else 100,
        n_samples=20,
        thin=4,
        n_features=_between(30.0 * (n / 80_000.0) ** 0.3, 5, 60),
    )


def _between(value: float, low: int, high: int) -> int:
    return min(max(round(value), low), high)
