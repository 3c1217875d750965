"""What is to be sampled: how many chains of which kind, how long, which sweeps are kept; and what suits a table."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.data import Observations

#: Events for each rating that a row has on average, on the side that has more rows. By judgement.
_EVENTS_PER_RATING = 1.25
#: Chains that a single model is learned from: `benchmarks/one_model.py choices`.
SHORT_CHAINS, SHORT_BURN_IN, SHORT_SAMPLES = 2, 50, 20
#: Numbers that their draws hold at most: a gigabyte.
SHORT_ROOM = 1 << 28
#: Share of the sweeps that fit into a given time which are not kept. By judgement.
_BURN_IN_SHARE = 0.6
#: Numbers of chains after which one looks whether they are enough: the same however many run side by side.
LOOKS = (2, 4)


@dataclass(frozen=True)
class Sizes:
    """Numbers that a user may leave open; `thin` is the number of sweeps from a draw that is kept to the next."""

    n_events: int
    n_chains: int
    burn_in: int
    n_samples: int
    thin: int
    n_features: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan(Sizes):
    """What is to be sampled, as `BayesianKolmogorovModel` is told."""

    likelihood: str
    levels: Floats
    concentration: float | None = None
    unobserved: float = 0.0
    #: Chains are enough when more would take no larger share of the squared error away; at 0 all are run.
    enough: float = 0.0

    @property
    def n_sweeps(self) -> int:
        """Sweeps of a chain."""
        return self.burn_in + self.n_samples * self.thin

    def next_look(self, n_chains: int) -> int:
        """Return how many chains have to be through, after so many, before one may look whether they are enough."""
        return min((look for look in LOOKS if self.enough and look > n_chains), default=self.n_chains)

    def learns(self, sweep: int) -> bool:
        """Whether priors are still learned in a sweep (from 1)."""
        return sweep <= self.burn_in

    def keeps(self, sweep: int) -> bool:
        """Whether the state after a sweep (from 1) is kept."""
        past = sweep - self.burn_in
        return past > 0 and past % self.thin == 0

    def shortened(self, n_sweeps: int, begun: int) -> Plan:
        """Return the same plan with at most so many sweeps of a chain, `begun` of which are done; some are kept."""
        if n_sweeps >= self.n_sweeps:
            return self
        n_sweeps = max(n_sweeps, begun + 1)
        if begun > self.burn_in:
            # Draws are kept already, and all chains must keep as many.
            return replace(self, n_samples=max(1, (n_sweeps - self.burn_in) // self.thin))
        burn_in = max(begun, int(_BURN_IN_SHARE * n_sweeps))
        thin = max(1, min(self.thin, (n_sweeps - burn_in) // self.n_samples))
        n_samples = max(1, min(self.n_samples, (n_sweeps - burn_in) // thin))
        return replace(self, burn_in=burn_in, thin=thin, n_samples=n_samples)


def likelihood_of(table: Observations) -> str:
    """Return the likelihood that suits a table: yes and no where it holds nothing else, as often as weights say."""
    whole = table.weights is None or bool((table.weights == np.floor(table.weights)).all())
    return "bernoulli" if table.is_binary and whole else "gaussian"


def settled_weight(wanted: float, table: Observations) -> float:
    """Return what an unobserved entry weighs where so much was wanted: less than anything observed."""
    least = 1.0 if table.weights is None else float(table.weights.min())
    # Just below the weights of what was observed: then all cells weigh the same.
    return min(wanted, least * (1.0 - 1e-6))


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
