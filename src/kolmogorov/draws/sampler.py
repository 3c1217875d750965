"""From a table and a plan to draws: chains from their start to their last draw, wherever they run, with callbacks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.cluster.dask import Dask
from kolmogorov.data import Observations
from kolmogorov.data.attributes import Attributes, TableAttributes
from kolmogorov.data.changes import Change
from kolmogorov.descent.attributes import Attributed, carried, moved_rows
from kolmogorov.descent.fitted import Fitted, entry_rows
from kolmogorov.draws.chain import Chain, ChainSource, ChainState, Sample, swept
from kolmogorov.draws.likelihood import Gaussian, kind_of
from kolmogorov.draws.new_rows import attributed
from kolmogorov.draws.plan import LOOKS, WARM_BURN_IN, WARM_SAMPLES, Plan, level_grid, short
from kolmogorov.draws.posterior import Posterior
from kolmogorov.draws.priors import Features, pattern_features
from kolmogorov.draws.start import started, started_from, taken_up
from kolmogorov.gpu.cuda import Cuda
from kolmogorov.gpu.start import gpu_chains

#: Seconds that chains are left to themselves, about, and sweeps at most: what a callback waits for. By judgement.
_LOOK, _LONGEST = 0.5, 20
#: Training entries at which chains are compared. By judgement.
_ENTRIES = 5_000
#: The share of a given time that is left for draws, where burn-in would take longer. By judgement.
_FOR_DRAWS = 0.4
#: Goes through some sweeps of chains that run side by side; of each that the plan keeps, the models of all of them.
Advance = Callable[[range], list[list[Sample]]]
#: Says where a chain of a number begins.
Start = Callable[[Chain, int], ChainState]


@dataclass(frozen=True)
class SamplingProgress:
    """Progress of sampling, as a callback sees it.

    Attributes
    ----------
    chain, sweep : int
        Counted from 0 and from 1.
    n_chains, n_sweeps : int
    rmse : float or None
        Of the average of the draws kept so far on the test data, on the probability scale.
    """

    chain: int
    sweep: int
    n_chains: int
    n_sweeps: int
    rmse: float | None


def drawn(
    plan: Plan,
    table: Observations,
    seed: int,
    execution: Threads | Cuda | Dask,
    on_draw: Callable[[SamplingProgress], bool] = lambda _: False,
    *,
    known: TableAttributes | None = None,
    test: Observations | None = None,
    max_seconds: float | None = None,
    keep_interrupted: bool = False,
    start: Start | None = None,
) -> tuple[Posterior, bool]:
    """Return draws, and whether Ctrl-C ended them early, which some must have been kept to survive.

    `on_draw` is told of every sweep and may end the drawing. `test` are held-out data on the table's scale, `known`
    attributes of its users and items. Chains on threads begin where `start` says, or where chains of their table do.
    """
    interrupted, known = False, known or TableAttributes()
    with one_blas_thread():
        features = pattern_features(table, plan.n_features).with_attributes(known)
        sampler = Sampler(ChainSource(plan, table, features, seed), on_draw, test, max_seconds, start)
        try:
            sampler.run(execution)
        except KeyboardInterrupt:
            if not keep_interrupted or not any(sampler.samples):
                raise
            interrupted = True
        posterior = sampler.posterior().checked()
        return attributed(posterior, known) if known else posterior, interrupted


def drawn_from(fitted: Fitted, table: Observations, seed: int, n_jobs: int | None) -> Posterior:
    """Return draws of a table of ratings, by chains that start from a model of its users and items."""
    sizes = short(table, fitted.n_events)
    sizes = replace(sizes, burn_in=WARM_BURN_IN, n_samples=min(WARM_SAMPLES, sizes.n_samples), thin=1)
    grid = level_grid("auto", table, "gaussian", fitted.n_events)
    plan = Plan(**vars(sizes), likelihood="gaussian", levels=grid)
    return drawn(plan, table, seed, Threads(n_jobs), start=lambda chain, _: started_from(fitted, chain))[0]


def drawn_again(posterior: Posterior, change: Change, plan: Plan, seed: int, n_jobs: int | None) -> Posterior:
    """Return the draws of a changed table, by as many chains, each from where the last draw of one was."""
    table, each = change.after, posterior.n_draws // posterior.n_chains
    plan = replace(plan, n_chains=posterior.n_chains, n_samples=each, burn_in=WARM_BURN_IN, enough=0.0)
    known = TableAttributes(
        _kept(posterior.user_attributes, change.users, table.rows.counts > 0),
        _kept(posterior.item_attributes, change.items, table.columns.counts > 0),
    )

    def start(chain: Chain, number: int) -> ChainState:
        return taken_up(posterior, (number + 1) * each - 1, change, chain)

    return drawn(plan, table, seed, Threads(n_jobs), known=known, start=start)[0]


def _kept(side: Attributed | None, before: Rows, seen: NDArray[np.bool_]) -> Attributes | None:
    """Return what is known of the rows of the new table: what was known of them before."""
    if side is None:
        return None
    rows, _ = moved_rows(side.rows, before)
    known = seen & (before >= 0)
    known[rows] = True
    return Attributes(side.columns, carried(side.values, before).astype(np.float64), known)


@dataclass
class Sampler:
    """One run over all chains; `on_draw` is told of every sweep and may end it.

    Draws are by chain: `n_through` of them are through, the others are under way and have as many each.
    """

    source: ChainSource
    on_draw: Callable[[SamplingProgress], bool]
    test: Observations | None = None
    max_seconds: float | None = None
    start: Start | None = None

    def __post_init__(self) -> None:
        self.plan, self.table = self.source.plan, self.source.table
        self._kind = kind_of(self.plan.likelihood, self.plan.levels, self.plan.unobserved)
        self.samples: list[list[Sample]] = []
        self.n_through = self._n_groups = 0
        self._held_out, self._values = None, np.empty(0)
        if self.test is not None:
            users, items = entry_rows(self.table, self.test)
            # A row -1 is unknown; the flag behind the last row says so.
            seen = [np.append(view.counts > 0, False) for view in (self.table.rows, self.table.columns)]
            known = seen[0][users] & seen[1][items]
            self._held_out = Average(users[known], items[known], self._kind)
            self._values = self.test.values[known]
        self._tasks: list[Any] = []
        self._began = time.monotonic()

    def run(self, execution: Threads | Cuda | Dask) -> None:
        """Go through the chains, group by group; as many of them run side by side as the execution has room for."""
        with execution as place:
            while self.n_through < self.plan.n_chains and self._worth_another() and not self._enough():
                with self._opened(place) as (n, advance):
                    self.samples += [[] for _ in range(n)]
                    # A chain that comes back whole from a cluster is not seen before its last sweep.
                    last, stopping = self._sweep(advance, whole=isinstance(place, Dask))
                if last >= self.plan.n_sweeps:
                    self.n_through += n
                    self._n_groups += 1
                if stopping:
                    return

    @contextmanager
    def _opened(self, place: Threads | Cuda | Dask) -> Iterator[tuple[int, Advance]]:
        """Open the next chains: on a GPU, as a task of a cluster, or on threads."""
        first, source = self.n_through, self.source
        if isinstance(place, Cuda):
            with place.guarded("Run fewer chains at once: execution=Cuda(memory=...) with less than is free."):
                chains = gpu_chains(place, source, first)
                yield len(chains), lambda sweeps: chains.run(sweeps, self.plan)
            return
        if isinstance(place, Dask):
            if not self._tasks:
                held = place.hold(source.table), place.hold(source.features)
                given = ((source.plan, *held, source.seed, number) for number in range(self.plan.n_chains))
                self._tasks = [place.submit(sampled, *one) for one in given]
            yield 1, lambda _: [[sample] for sample in place.gather([self._tasks[first]])[0]]
            return
        # As many as threads; the threads that are left go to their rows.
        n = min(place.n_threads, self.plan.next_look(first) - first)
        with ExitStack() as stack:
            dealers = [stack.enter_context(Threads(max(1, place.n_threads // n))) for _ in range(n)]
            spread: Callable[..., Any] = stack.enter_context(ThreadPoolExecutor(n)).map if n > 1 else map
            running = [source.chain(first + k, own) for k, own in enumerate(dealers)]
            if self.start is None:
                states = started(running, place)
            else:
                states = [self.start(chain, first + k) for k, chain in enumerate(running)]

            def advance(sweeps: range) -> list[list[Sample]]:
                # Each at its own pace: where they kept step, all would wait for Python at once.
                found = list(spread(lambda chain, state: swept(chain, state, sweeps, self.plan), running, states))
                states[:] = [state for state, _ in found]
                return [list(models) for models in zip(*(kept for _, kept in found), strict=True)]

            yield n, advance

    def _sweep(self, advance: Advance, *, whole: bool) -> tuple[int, bool]:
        """Sweep chains until their last draw; return the last sweep and whether sampling is to end, maybe before."""
        look, done, stride, stopping = time.monotonic(), 0, self.plan.n_sweeps if whole else 1, False
        while done < self.plan.n_sweeps:
            if not self.n_through and self._left() < _FOR_DRAWS * (self.max_seconds or 0.0):
                self.plan = replace(self.plan, burn_in=min(done, self.plan.burn_in))
            sweeps = range(done + 1, min(done + stride, self.plan.n_sweeps) + 1)
            kept = iter(advance(sweeps))
            for done in sweeps:
                stopping = self._take(done, kept, done == sweeps[-1] or not whole) or stopping
                if (stopping or self._left() <= 0.0) and any(self.samples):
                    return done, True
            now = time.monotonic()
            stride, look = max(1, min(int(_LOOK * len(sweeps) / max(now - look, 1e-9)), _LONGEST)), now
        return done, stopping

    def _take(self, index: int, kept: Iterator[list[Sample]], told: bool) -> bool:
        """Take over what chains kept of a sweep, and tell of it; return whether sampling is to end."""
        under_way = self.samples[self.n_through :]
        if self.plan.keeps(index):
            for samples, sample in zip(under_way, next(kept), strict=True):
                samples.append(sample)
                if self._held_out is not None:
                    self._held_out.add(sample)
        if not told:
            return False
        rmse = None if self._held_out is None else self._held_out.rmse(self._values)
        sizes = (self.plan.n_chains, self.plan.n_sweeps)
        said = [self.on_draw(SamplingProgress(self.n_through + k, index, *sizes, rmse)) for k in range(len(under_way))]
        return any(said)

    def posterior(self) -> Posterior:
        """Return the draws kept, and hold them no longer.

        Chains that were ended early are left out, unless no other is through.
        """
        chains = self.samples[: self.n_through] if self.n_through else self.samples
        # Ctrl-C may come between the draws of chains that run side by side.
        least = min(map(len, chains))
        samples = [sample for chain in chains for sample in chain[:least]]
        self.samples = []
        chains.clear()
        plan, n_chains = self.plan, len(samples) // least
        priors = {name: np.array([sample.priors[name] for sample in samples]) for name in samples[0].priors}
        theta, psi, noise = (
            np.empty((len(samples), *first.shape), dtype=first.dtype)
            for first in (samples[0].theta, samples[0].psi, samples[0].noise)
        )
        # One after the other, so that no draw is held twice for long.
        for k in range(len(samples) - 1, -1, -1):
            sample = samples.pop()
            theta[k], psi[k], noise[k] = sample.theta, sample.psi, sample.noise
        return Posterior(
            theta=theta,
            psi=psi,
            noise=noise,
            n_chains=n_chains,
            likelihood=plan.likelihood,
            training=self.table.over(),
            priors=priors,
            levels=plan.levels,
            unobserved=plan.unobserved,
        )

    def _enough(self) -> bool:
        """Whether the average of the chains has settled: more of them would hardly take anything off its error."""
        plan, n_chains = self.plan, self.n_through
        if not plan.enough or n_chains not in LOOKS:
            return False
        return averaging_left(self.table, self.samples, self._kind) < plan.enough

    def _left(self) -> float:
        """Return the seconds that are left."""
        return math.inf if self.max_seconds is None else self.max_seconds - (time.monotonic() - self._began)

    def _worth_another(self) -> bool:
        """Whether another group can be run in the time left, if it takes as long as those before."""
        gone = time.monotonic() - self._began
        return not self._n_groups or self._left() > gone / self._n_groups


def sampled(plan: Plan, table: Observations, features: Features, seed: int, number: int) -> list[Sample]:
    """Run one chain to its end, on one thread; what a task does."""
    with one_blas_thread(), Threads(1) as dealer:
        chain = ChainSource(plan, table, features, seed).chain(number, dealer)
        return swept(chain, started([chain], dealer)[0], range(1, plan.n_sweeps + 1), plan)[1]


class Average:
    """The running average over draws of what is expected of aligned rows."""

    def __init__(self, users: Rows, items: Rows, kind: Gaussian) -> None:
        self._rows, self._kind = (users, items), kind
        self._sum, self._count = np.zeros(len(users)), 0

    def add(self, sample: Sample) -> None:
        """Take in one more draw."""
        theta, psi = sample.theta[self._rows[0]], sample.psi[self._rows[1]]
        self._sum += self._kind.expected(np.einsum("nd,nd->n", theta.astype(np.float64), psi))
        self._count += 1

    def rmse(self, values: Floats) -> float | None:
        """Return how far it lies from some values; None where there is no draw or no value."""
        return float(np.sqrt(((self.mean - values) ** 2).mean())) if self._count and values.size else None

    @property
    def mean(self) -> Floats:
        """The average."""
        return self._sum / self._count


def averaging_left(table: Observations, chains: list[list[Sample]], kind: Gaussian) -> float:
    """Return the share of the squared error that an average over endlessly many chains would be without.

    Averages of n independent chains vary by V / n, where V is how much those of single chains do; it is measured at
    some of the training entries, beside the squared error there.
    """
    chosen = np.linspace(0, len(table) - 1, min(len(table), _ENTRIES)).astype(np.int64)
    averages = [Average(table.user_rows()[chosen], table.item_rows()[chosen], kind) for _ in chains]
    for average, samples in zip(averages, chains, strict=True):
        for sample in samples:
            average.add(sample)
    means = np.array([average.mean for average in averages])
    error = float(((means.mean(axis=0) - table.values[chosen]) ** 2).mean())
    return float(means.var(axis=0, ddof=1).mean()) / len(chains) / max(error, 1e-12)
