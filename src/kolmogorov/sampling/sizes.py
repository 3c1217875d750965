"""Numbers of events, chains and sweeps that suit a table, where the user leaves them open."""

from __future__ import annotations

from dataclasses import dataclass

from kolmogorov.data import Observations

#: With the paper's two values, whatever the table.
_TWO_VALUED_EVENTS = 24
_TWO_VALUED_FEATURES = 10
#: Events for each rating that a row has on average, on the side that has more rows.
_EVENTS_PER_RATING = 1.25


@dataclass(frozen=True)
class Sizes:
    """What suits a table; see the module."""

    n_events: int
    n_chains: int
    burn_in: int
    n_samples: int
    thin: int
    n_features: int


def suited(
    table: Observations, *, several_values: bool, answers: bool, cut: bool = False, only_yes: bool = False
) -> Sizes:
    """Choose by the number of ratings; `answers` where an event is drawn behind each of them, `cut` where chances are.

    A row with five ratings tells few events apart, however many rows there are; where only yes is recorded, what is not
    observed tells them apart as well.

    More ratings can tell more events apart, though slowly: twice as many at 30 times the ratings. What a chain gains by
    longer burn-in is small beyond 150 sweeps; more chains are worth more, and many ratings leave time for fewer.
    """
    n = max(len(table), 1)
    if not several_values:
        return Sizes(_TWO_VALUED_EVENTS, 4, 100, 25, 8, _TWO_VALUED_FEATURES)
    least, most, per = (5, 16, 4.5) if answers else (4, 10, 6.0) if cut else (4, 32, 8.0)
    if not answers and not only_yes:
        most = _between(_EVENTS_PER_RATING * n / max(table.n_users, table.n_items, 1), least, most)
    n_events = min(_between(per * (n / 5000.0) ** 0.2, least, most), max(2, min(table.n_users, table.n_items)))
    many = n >= (100_000 if answers or cut else 300_000)
    return Sizes(
        n_events=n_events,
        n_chains=4 if many else 8,
        burn_in=100 if many else 150,
        n_samples=20,
        thin=4,
        n_features=feature_count(table),
    )


def feature_count(table: Observations) -> int:
    """Return how many features of the pattern a table can say something by."""
    return _between(30.0 * (len(table) / 80_000.0) ** 0.3, 5, 60)


def _between(value: float, low: int, high: int) -> int:
    return min(max(round(value), low), high)
