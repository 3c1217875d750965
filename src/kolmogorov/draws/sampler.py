"""From a table and a plan to draws: chains from their start to their last draw, wherever they run, with callbacks."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.cluster import Dask
from kolmogorov.data import Observations
from kolmogorov.data.attributes import Attributes, TableAttributes
from kolmogorov.data.changes import Change
from kolmogorov.descent.attributes import Attributed, carried, moved_rows
from kolmogorov.descent.fitted import Fitted
from kolmogorov.draws.chain import Chain, ChainSource, ChainState, Sample
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
#: Goes through some sweeps of chains that run side by side; of each that the plan keeps, the draws of all of them.
Draws = Sequence[Sample]
Advance = Callable[[range], list[Draws]]
#: Says where a chain of a number begins.
Start = Callable[[Chain, int], ChainState]


@dataclass(frozen=True)
class SamplingProgress:
    """Progress of sampling, as a callback sees it: a chain, counted from 0, and its sweep, from 1, of how many."""

    chain: int
    sweep: int
    n_chains: int
    n_sweeps: int


def drawn(
    plan: Plan,
    table: Observations,
    seed: int,
    execution: Threads | Cuda | Dask,
    on_draw: Callable[[SamplingProgress], bool] = lambda _: False,
    *,
    known: TableAttributes | None = None,
    keep_interrupted: bool = False,
    start: Start = lambda chain, _: started(chain),
) -> tuple[Posterior, bool]:
    """Return draws, and whether Ctrl-C ended them early, which some must have been kept to survive.

    `on_draw` is told of every sweep and may end the drawing. `known` are attributes of the table's users and items.
    Chains on threads begin where `start` says. As many run side by side as the execution has room for; those that are
    ended early are left out, unless no other is through.
    """
    known, kind = known or TableAttributes(), kind_of(plan.likelihood, plan.levels, plan.unobserved)
    #: The draws of each chain that is through; of the others the draws of each sweep, one of each chain.
    through, under_way, interrupted, stopping = list[Draws](), list[Draws](), False, False
    with one_blas_thread():
        source = ChainSource(plan, table, pattern_features(table, plan.n_features).with_attributes(known), seed)
        try:
            with execution as place:
                tasks = _submitted(place, source) if isinstance(place, Dask) else []
                while not stopping and len(through) < plan.n_chains and not _enough(plan, table, through, kind):
                    first, index, under_way = len(through), 0, []
                    with _opened(place, source, first, tasks, start) as (n, advance):
                        for index, models in _sweeps(plan, advance, plan.n_sweeps if tasks else 1):
                            under_way += [models] if models else []
                            # A chain that comes back whole from a cluster is not seen before its last sweep.
                            if not tasks or index == plan.n_sweeps:
                                told = (index, plan.n_chains, plan.n_sweeps)
                                said = [on_draw(SamplingProgress(first + k, *told)) for k in range(n)]
                                stopping = stopping or any(said)
                            if stopping and (through or under_way):
                                break
                    if index == plan.n_sweeps:
                        through += zip(*under_way, strict=True)
        except KeyboardInterrupt:
            if not keep_interrupted or not (through or under_way):
                raise
            interrupted = True
        chains = through or list(zip(*under_way, strict=True))
        samples, n_chains = [sample for chain in chains for sample in chain], len(chains)
        for held in (through, under_way, chains):
            held.clear()
        posterior = _posterior(plan, table, samples, n_chains).checked()
        return attributed(posterior, known) if known else posterior, interrupted


def _sweeps(plan: Plan, advance: Advance, stride: int) -> Iterator[tuple[int, Draws]]:
    """Go through all sweeps, some at a time; yield the number of each, and what was kept of it."""
    done = 0
    while done < plan.n_sweeps:
        began, sweeps = time.monotonic(), range(done + 1, min(done + stride, plan.n_sweeps) + 1)
        kept = iter(advance(sweeps))
        for done in sweeps:
            yield done, next(kept) if plan.keeps(done) else ()
        stride = max(1, min(int(_LOOK * len(sweeps) / max(time.monotonic() - began, 1e-9)), _LONGEST))


@contextmanager
def _opened(
    place: Threads | Cuda | Dask, source: ChainSource, first: int, tasks: list[Any], start: Start
) -> Iterator[tuple[int, Advance]]:
    """Start the next chains: on a GPU, as a task of a cluster, or on threads."""
    if isinstance(place, Cuda):
        with place.guarded("Run fewer chains at once: execution=Cuda(memory=...) with less than is free."):
            batch = gpu_chains(place, source, first)
            yield len(batch), lambda sweeps: [*batch.run(sweeps, source.plan)]
        return
    if isinstance(place, Dask):
        yield 1, lambda _: [(sample,) for sample in place.gather([tasks[first]])[0]]
        return
    # As many as threads; the threads that are left go to their rows.
    n = min(place.n_threads, source.plan.next_look(first) - first)
    with ExitStack() as stack:
        dealers = [stack.enter_context(Threads(max(1, place.n_threads // n))) for _ in range(n)]
        # Each at its own pace: where they kept step, all would wait for Python at once.
        spread: Callable[..., Any] = stack.enter_context(ThreadPoolExecutor(n)).map if n > 1 else map
        chains = [source.chain(first + k, own) for k, own in enumerate(dealers)]
        try:
            for chain, state in zip(chains, spread(start, chains, range(first, first + n)), strict=True):
                chain.state = state
            yield n, lambda sweeps: [*zip(*spread(Chain.run, chains, [sweeps] * n), strict=True)]
        except BaseException:
            for chain in chains:
                chain.stopped = True
            raise


def _submitted(place: Dask, source: ChainSource) -> list[Any]:
    """Make a task of each chain."""
    held = source.plan, place.hold(source.table), place.hold(source.features), source.seed
    return [place.submit(sampled, *held, k) for k in range(source.plan.n_chains)]


def sampled(plan: Plan, table: Observations, features: Features, seed: int, number: int) -> list[Sample]:
    """Run one chain to its end, on one thread; what a task does."""
    with one_blas_thread(), Threads(1) as dealer:
        chain = ChainSource(plan, table, features, seed).chain(number, dealer)
        chain.state = started(chain)
        return chain.run(range(1, plan.n_sweeps + 1))


def _enough(plan: Plan, table: Observations, chains: list[Draws], kind: Gaussian) -> bool:
    """Whether the average of the chains has settled: more of them would hardly take anything off its error."""
    return plan.enough > 0.0 and len(chains) in LOOKS and averaging_left(table, chains, kind) < plan.enough


def averaging_left(table: Observations, chains: Sequence[Sequence[Sample]], kind: Gaussian) -> float:
    """Return the share of the squared error that an average over endlessly many chains would be without.

    Averages of n independent chains vary by V / n, where V is how much those of single chains do; it is measured at
    some of the training entries, beside the squared error there.
    """
    chosen = np.linspace(0, len(table) - 1, min(len(table), _ENTRIES)).astype(np.int64)
    users, items = table.user_rows()[chosen], table.item_rows()[chosen]

    def says(sample: Sample) -> Floats:
        return kind.expected(np.einsum("nd,nd->n", sample.theta[users].astype(np.float64), sample.psi[items]))

    means = np.array([sum(map(says, chain)) / len(chain) for chain in chains])
    error = float(((means.mean(axis=0) - table.values[chosen]) ** 2).mean())
    return float(means.var(axis=0, ddof=1).mean()) / len(chains) / max(error, 1e-12)


def _posterior(plan: Plan, table: Observations, samples: list[Sample], n_chains: int) -> Posterior:
    """Put draws together, and take them off the list."""
    priors = {name: np.array([sample.priors[name] for sample in samples]) for name in samples[0].priors}
    theta, psi, noise = (
        np.empty((len(samples), *first.shape), dtype=first.dtype)
        for first in (samples[0].theta, samples[0].psi, samples[0].noise)
    )
    # One after the other, so that no draw is held twice for long.
    for k in range(len(samples) - 1, -1, -1):
        sample = samples.pop()
        theta[k], psi[k], noise[k] = sample.theta, sample.psi, sample.noise
    kind = plan.likelihood, table.over(), plan.levels, priors, plan.unobserved
    return Posterior(theta, psi, noise, n_chains, *kind)


# --- from what was learned before -------------------------------------------------------------------------------------


def drawn_from(fitted: Fitted, table: Observations, seed: int, n_jobs: int | None) -> Posterior:
    """Return draws of a table of ratings, by chains that start from a model of its users and items."""
    sizes = short(table, fitted.n_events)
    sizes = replace(sizes, burn_in=WARM_BURN_IN, n_samples=min(WARM_SAMPLES, sizes.n_samples), thin=1)
    grid = level_grid(table, "gaussian", fitted.n_events)
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
    return drawn(plan, table, seed, Threads(n_jobs), known=known, start=partial(taken_up, posterior, change))[0]


def _kept(side: Attributed | None, before: Rows, seen: NDArray[np.bool_]) -> Attributes | None:
    """Return what is known of the rows of the new table: what was known of them before."""
    if side is None:
        return None
    rows, _ = moved_rows(side.rows, before)
    known = seen & (before >= 0)
    known[rows] = True
    return Attributes(side.columns, carried(side.values, before).astype(np.float64), known)
