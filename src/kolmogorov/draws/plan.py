"""What is sampled: how many chains, how long, on which levels, which sweeps are kept; and what suits a table.

Here is also all that a benchmark chose; other constants, by judgement, stand where they are used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.data import Observations
from kolmogorov.draws.likelihood import Gaussian, kind_of

#: `benchmarks/one_model.py choices`: chains that a single model is learned from.
SHORT_CHAINS, SHORT_BURN_IN, SHORT_SAMPLES = 2, 50, 20
#: `benchmarks/update.py`, seed 0, and one more split of MovieLens 100K: sweeps before the first that is kept, those
#: that are kept, and the share of equal shares in a theta where chains start from what was learned before: thetas of a
#: model lie near the edges of the simplex, and chains further inside.
WARM_BURN_IN, WARM_SAMPLES, WARM_BLUR = 10, 20, 0.2
#: `benchmarks/planted.py`, tables of seed 100, and votes of the General Assembly before 2000: events for each factor,
#: some being spent on the corners of the simplex. Averages over chains bear more of them where a table of ratings is
#: filled by at least the last of these shares, and fewer of yes and no, where being sure and wrong costs most.
PER_FACTOR, PER_FACTOR_DENSE, PER_FACTOR_YES, DENSE = 1.5, 2.0, 1.2, 0.4
#: The same: with fewer events hardly any table is told better, with more a few thousandths of the error cost as much
#: time again.
FEWEST_EVENTS, MOST_EVENTS = 4, 48

#: Numbers of factors that are tried; the first factor is the mean. By judgement, as all that follows.
TRIED = (2, 3, 4, 6, 8, 12, 16, 24, 32)
#: Ratings below which nothing can be held out, and above which trying factors would take longer than it is worth.
LEAST_RATINGS, MOST_RATINGS = 200, 2_000_000
#: Numbers that the draws a single model is learned from hold at most: a gigabyte. And the fewest draws of a chain.
SHORT_ROOM, _FEWEST_SAMPLES = 1 << 28, 5
#: Events for each rating that a row has on average, on the side that has more rows.
_EVENTS_PER_RATING = 1.25
#: Share of the sweeps that fit into a given time which are not kept.
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
    #: Of theta's normal prior; None learns it.
    concentration: float | None = None
    unobserved: float = 0.0
    #: Chains are enough when more would take no larger share of the squared error away; at 0 all are run.
    enough: float = 0.0

    @property
    def kind(self) -> Gaussian:
        """What answers mean."""
        return kind_of(self.likelihood, self.levels, self.unobserved)

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


# --- what suits a table -----------------------------------------------------------------------------------------------


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
    return Sizes(
        n_events=n_events,
        n_chains=4 if n >= (100_000 if answers else 300_000) else 8,
        burn_in=100,
        n_samples=20,
        thin=4,
        # What the pattern of so many ratings can say something by.
        n_features=_between(30.0 * (n / 80_000.0) ** 0.3, 5, 60),
    )


def short(table: Observations, n_events: int) -> Sizes:
    """Return what is enough to complete a table from which one model is learned: two chains of some ninety sweeps.

    They complete it nearly as well as those of `suited`, and the one model keeps less than what they lose. Of very many
    rows fewer draws are kept, so that theta, psi and the noise of all stay within a gigabyte.
    """
    held = n_events * (table.n_users + table.n_items) + table.n_users
    n_samples = _between(float(SHORT_ROOM // max(SHORT_CHAINS * held, 1)), _FEWEST_SAMPLES, SHORT_SAMPLES)
    lengths = {"n_chains": SHORT_CHAINS, "burn_in": SHORT_BURN_IN, "n_samples": n_samples, "thin": 2}
    return replace(suited(table, answers=False), n_events=n_events, **lengths)


def _between(value: float, low: int, high: int) -> int:
    return min(max(round(value), low), high)
