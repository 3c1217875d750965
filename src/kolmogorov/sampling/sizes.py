"""Numbers of events, chains and sweeps that suit a table, where the user leaves them open."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kolmogorov.data import Observations

#: Events for each rating that a row has on average, on the side that has more rows. By judgement.
_EVENTS_PER_RATING = 1.25
#: Chains that a single model is learned from: `benchmarks/one_model.py choices`.
SHORT_CHAINS, SHORT_BURN_IN, SHORT_SAMPLES = 2, 50, 20
#: Numbers that their draws hold at most: a gigabyte.
SHORT_ROOM = 1 << 28


@dataclass(frozen=True)
class Sizes:
    """Numbers that a user may leave open; `thin` is the number of sweeps from a draw that is kept to the next."""

    n_events: int
    n_chains: int
    burn_in: int
    n_samples: int
    thin: int
    n_features: int


def suited(table: Observations, *, answers: bool, only_yes: bool = False) -> Sizes:
    """Choose by the number of ratings; `answers` where an event is drawn behind each of them.

    A row with five ratings tells few events apart, however many rows there are; where only yes is recorded, what is not
    observed tells them apart as well. More ratings can tell more events apart, though slowly: twice as many at 30 times
    the ratings. More chains are worth more than a longer burn-in (`benchmarks/accuracy.py choices`), and many ratings
    leave time for fewer.
    """
    n = max(len(table), 1)
    least, most, per = (5, 16, 4.5) if answers else (4, 32, 20.0 if only_yes else 8.0)
    if not answers and not only_yes:
        most = _between(_EVENTS_PER_RATING * n / max(table.n_users, table.n_items, 1), least, most)
    n_events = min(_between(per * (n / 5000.0) ** 0.2, least, most), max(2, min(table.n_users, table.n_items)))
    many = n >= (100_000 if answers else 300_000)
    return Sizes(
        n_events=n_events,
        n_chains=4 if many else 8,
        burn_in=100,
        n_samples=20,
        thin=4,
        n_features=feature_count(table),
    )


def short(table: Observations) -> Sizes:
    """Return what is enough to complete a table from which one model is learned: two chains of some ninety sweeps.

    They complete it nearly as well as those of `suited`, and the one model keeps less than what they lose. Of very many
    rows fewer draws are kept, so that these stay within a gigabyte or so.
    """
    usual = suited(table, answers=False)
    room = SHORT_ROOM // max(SHORT_CHAINS * usual.n_events * (table.n_users + table.n_items), 1)
    n_samples = _between(float(room), 5, SHORT_SAMPLES)
    return replace(usual, n_chains=SHORT_CHAINS, burn_in=SHORT_BURN_IN, n_samples=n_samples, thin=2)


def feature_count(table: Observations) -> int:
    """Return how many features of the pattern a table can say something by."""
    return _between(30.0 * (len(table) / 80_000.0) ** 0.3, 5, 60)


def _between(value: float, low: int, high: int) -> int:
    return min(max(round(value), low), high)
