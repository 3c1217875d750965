"""Chains on an NVIDIA GPU: agreement with chains on threads, seconds, and what more of them bring.

`python benchmarks/gpu_draws.py --check` compares; without it, it measures.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from harness import Column, Table, finish, machine, movielens

import kolmogorov as km
from kolmogorov import BayesianKolmogorovModel, Observations
from kolmogorov._support.seeds import generator
from kolmogorov._support.threads import Threads
from kolmogorov.draws import priors
from kolmogorov.draws.chain import PRIORS, Chain, ChainSource, ChainState
from kolmogorov.draws.plan import Plan
from kolmogorov.draws.priors import pattern_features, redrawn_noise_prior, scored
from kolmogorov.draws.start import plain_start, started
from kolmogorov.gpu.cuda import Cuda
from kolmogorov.gpu.draws import GpuChains

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from helpers.gpu_states import states_of

LEVELS, TWO = np.arange(-5, 11) / 5.0, np.array([0.0, 1.0])
#: Numbers of events, whether entries have weights and what is not observed has one, and values.
CASES = [
    (1, False, 0.0, LEVELS),
    (8, True, 0.0, LEVELS),
    (8, False, 0.0, TWO),
    (24, True, 0.1, LEVELS),
    (64, False, 0.0, LEVELS),
]
#: What is liked, on the probability scale.
LIKES = 0.8
#: 200 sweeps.
LENGTH = {"burn_in": 120, "n_samples": 20}
COLUMNS = [
    Column("table"),
    Column("where"),
    Column("chains", "d"),
    Column("events", "d"),
    Column("sweeps", "d"),
    Column("sweeping, s", ".2f"),
    Column("whole fit, s", ".2f"),
    Column("test RMSE, stars", ".4f"),
    Column("inside 90%", ".3f"),
]
LIKED = [
    Column("where"),
    Column("chains", "d"),
    Column("whole fit, s", ".2f"),
    Column("Brier score", ".4f"),
    Column("accuracy", ".1%"),
]


def main() -> None:
    """Check or measure."""
    print(machine())
    cuda = Cuda()
    print(cuda.found())
    with cuda:
        if "--check" in sys.argv:
            sys.exit(check(cuda) > 0)
        figures(cuda)


# --- agreement ------------------------------------------------------------------------------------------------------


def check(cuda: Cuda) -> int:
    """Return how many checks failed."""
    ratings = some_ratings()
    weighted = Observations.from_arrays(
        ratings.user_rows(), ratings.item_rows(), ratings.values, weights=1.0 + ratings.user_rows() % 3
    )
    began = time.perf_counter()
    good = [same_sweep(cuda, weighted if weights else ratings, size, *more) for size, weights, *more in CASES]
    good += [
        same_hidden(cuda, ratings),
        same_bits(cuda, ratings),
        same_errors(cuda, ratings),
        same_posterior(cuda),
        same_likes(cuda, ratings),
    ]
    print(f"chains were compared in {time.perf_counter() - began:.0f} s", flush=True)
    return len(good) - sum(good)


def some_ratings() -> Observations:
    """Return MovieLens 100K where it is, else a planted table."""
    try:
        return movielens("ml-100k")
    except SystemExit:
        return km.datasets.load("planted", n_users=2000, n_items=1500, n_events=8, n_observations=10**5, random_state=0)


def chain_of(table: Observations, seed: int, size: int, unobserved: float, levels: Any, dealer: Threads) -> Chain:
    """Return a chain of ratings."""
    sizes = {"n_events": size, "n_chains": 1, "burn_in": 1, "n_samples": 1, "thin": 1, "n_features": 10}
    plan = Plan(**sizes, likelihood="gaussian", levels=levels, unobserved=unobserved)
    return Chain(plan, table, pattern_features(table, 10), seed, dealer)


def same_sweep(cuda: Cuda, table: Observations, size: int, unobserved: float, levels: Any) -> bool:
    """Sweep from the same state: values and thetas are those of a chain on threads but for a few roundings.

    The noise has streams of its own; given the residuals it must be as far from its mean as a gamma number is. The
    priors must be those that the formulas of a chain on threads give for what was drawn.
    """
    with Threads(-1) as dealer:
        chain = chain_of(table, 1, size, unobserved, levels, dealer)
        state = started(chain)
        for index in range(1, 6):
            state = chain.sweep(state, index, learning=True)
        theirs = chain.sweep(state, 6, learning=True)
        batches = [GpuChains(cuda, [chain, chain], [state, state]) for _ in range(2)]
        for batch in batches:
            batch.sweep(6, learning=True)
        (ours, twin), (again, _) = (states_of(batch, [state, state]) for batch in batches)
        residual, mass = chain.residuals(ours.theta, ours.psi, table.rows), chain.mass
    same = all(
        np.array_equal(getattr(ours, name), getattr(other, name))
        for name in ("theta", "psi", "noise")
        for other in (twin, again)
    )
    other_values = float((ours.psi != theirs.psi).mean())
    # A value that differs is seen by all users of its item: those are left out.
    changed, rows = (ours.psi != theirs.psi).any(axis=1), table.rows
    touched = np.bincount(rows.owners(0, table.n_users), weights=changed[rows.indices], minlength=table.n_users) > 0
    other_thetas = float((np.abs(ours.theta - theirs.theta)[~touched].max(axis=1) > 1e-4).mean())
    shape = state.shape + 0.5 * mass
    z = ((state.scale + 0.5 * residual) / ours.noise - shape) / np.sqrt(shape)
    off, variance, priors = float(z.mean() * np.sqrt(z.size)), float(z.var()), priors_off(chain, state, ours)
    good = same and other_values < 2e-3 and other_thetas < 1e-2
    good = good and abs(off) < 4.0 and 0.75 < variance < 1.3 and priors < 1e-3
    print(
        f"{'ok ' if good else 'NOT'} a sweep, D = {size}, {len(levels)} values"
        f"{', weights' if table.weights is not None else ''}{', unobserved' if unobserved else ''}: "
        f"{other_values:.1e} of values and {other_thetas:.1e} of users differ, "
        f"noise {off:+.2f} deviations off, of variance {variance:.2f}, priors by {priors:.0e}, same bits {same}",
        flush=True,
    )
    return good


def priors_off(chain: Chain, before: ChainState, after: ChainState) -> float:
    """Return how far priors are, relatively, from those learned on the host from what was drawn."""
    rng = generator(chain.seed, PRIORS, 6)
    rate = chain.noise_rate * chain.noise_shape / before.shape
    sums = float(np.log(after.noise).sum()), float((1.0 / after.noise).sum())
    scale, shape = redrawn_noise_prior(before.shape, rate, len(after.noise), *sums, rng)
    items = before.psi_prior.learned(after.psi, chain.seen_items, chain.kind.psi_variance, rng)
    users = before.theta_prior.fitted(after.theta, chain.seen_users)
    seen = np.flatnonzero(chain.seen_users)
    drawn = after.theta_prior.prior_draws
    usual = ((drawn - users.centre[np.resize(seen, len(drawn))]) ** 2).sum(axis=1)
    found = float(((after.theta - users.centre)[seen] ** 2).sum(axis=1).mean())
    pull = scored(before.theta_prior.concentration, len(seen), found, float(usual.mean()), float(usual.var()))
    pairs = (
        (after.shape, shape),
        (after.scale, scale),
        (after.theta_prior.concentration, pull),
        (after.theta_prior.mean, users.mean),
        (after.psi_prior.precision, items.precision),
        (after.psi_prior.slopes, items.slopes),
    )
    return max(float(np.abs(np.subtract(a, b)).max() / np.abs(b).max()) for a, b in pairs)


def same_hidden(cuda: Cuda, ratings: Observations, size: int = 8) -> bool:
    """Sweep from the same state: values and thetas of yes and no are those of a chain on threads, but for roundings."""
    table = likes(ratings)
    plan = BayesianKolmogorovModel(size, likelihood="bernoulli")._plan(table)
    with Threads(-1) as dealer:
        chain = ChainSource(plan, table, pattern_features(table, 10), 1).chain(0, dealer)
        state = started(chain)
        for index in range(1, 41):
            state = chain.sweep(state, index, learning=True)
        theirs = chain.sweep(state, 41, learning=True)
    batches = [GpuChains(cuda, [chain, chain], [state, state]) for _ in range(2)]
    for batch in batches:
        batch.sweep(41, learning=True)
    (ours, twin), (again, _) = (states_of(batch, [state, state]) for batch in batches)
    same = all(
        np.array_equal(getattr(ours, name), getattr(other, name))
        for name in ("theta", "psi")
        for other in (twin, again)
    )
    other_values = float((ours.psi != theirs.psi).mean())
    apart = float(np.abs(ours.theta.mean(axis=0) - theirs.theta.mean(axis=0)).max())
    good = same and other_values < 2e-3 and apart < 0.02
    print(
        f"{'ok ' if good else 'NOT'} a sweep of yes and no, D = {size}, {len(chain.levels)} values: {other_values:.1e} "
        f"of values differ, mean thetas by {apart:.4f}, same bits {same}",
        flush=True,
    )
    return good


def likes(ratings: Observations) -> Observations:
    """Return who likes what: yes from four stars on."""
    return Observations.from_arrays(ratings.user_rows(), ratings.item_rows(), (ratings.values >= LIKES).astype(float))


def same_likes(cuda: Cuda, ratings: Observations) -> bool:
    """Brier scores of whole fits to yes and no agree."""
    train, test = likes(ratings).split(0.2, random_state=0)
    host, device = (
        BayesianKolmogorovModel(8, n_chains=8, random_state=0, execution=execution, **LENGTH)
        .fit(train)
        .evaluate(test)["brier"]
        for execution in (None, cuda)
    )
    good = abs(host - device) < 1e-3
    print(f"{'ok ' if good else 'NOT'} Brier score of yes and no: threads {host:.5f}, GPU {device:.5f}", flush=True)
    return good


def same_bits(cuda: Cuda, table: Observations) -> bool:
    """A fit gives the same draws twice, and chains do not depend on how many there are."""
    short = {"burn_in": 10, "n_samples": 2, "random_state": 0, "execution": cuda}
    first, second, fewer = (BayesianKolmogorovModel(8, n_chains=n, **short).fit(table).posterior_ for n in (4, 4, 3))
    good = all(
        np.array_equal(getattr(first, name)[: len(getattr(other, name))], getattr(other, name))
        for name in ("theta", "psi", "noise")
        for other in (second, fewer)
    )
    print(f"{'ok ' if good else 'NOT'} the same bits twice, and with fewer chains", flush=True)
    return good


def same_errors(cuda: Cuda, ratings: Observations) -> bool:
    """Test errors of whole fits agree, and intervals hold as often."""
    train, test = ratings.split(0.2, random_state=0)
    found = []
    for execution in (None, cuda):
        model = BayesianKolmogorovModel(8, n_chains=8, random_state=0, execution=execution, **LENGTH).fit(train)
        found.append((model.evaluate(test)["rmse"], inside(model, test), model.posterior_))
    (host, held, theirs), (device, holds, ours) = found
    numbers = [f"{name} {theirs.priors[name].mean():.2f} / {ours.priors[name].mean():.2f}" for name in ours.priors]
    good = abs(host - device) < 4e-4 and abs(held - holds) < 0.01
    print(
        f"{'ok ' if good else 'NOT'} test RMSE: threads {host:.5f}, GPU {device:.5f}; "
        f"inside 90% {held:.3f} / {holds:.3f}; {', '.join(numbers)}",
        flush=True,
    )
    return good


class FixedPrior(BayesianKolmogorovModel):
    """The same with the concentration of thetas that chains begin with, which each would learn for itself."""

    def _plan(self, table: Observations, *, learned: bool = True) -> Plan:
        return replace(super()._plan(table, learned=learned), levels=LEVELS)

    def fit(self, X: Any, y: Any = None, **given: Any) -> Self:
        """Draw models with that."""
        priors.scored = lambda pull, *rest: pull
        try:
            return super().fit(X, y, **given)
        finally:
            priors.scored = scored


def same_posterior(cuda: Cuda, n_chains: int = 32) -> bool:
    """On a small table that chains soon forget their start on, the means of chains are drawn from one distribution."""
    table, users, items = noisy()
    more: dict[str, Any] = {"burn_in": 60, "n_samples": 40, "n_chains": n_chains}
    means, spreads = [], []
    for execution, seed in ((None, 0), (None, 1), (cuda, 2)):
        model = FixedPrior(2, likelihood="gaussian", random_state=seed, execution=execution, n_features=0, **more).fit(
            table
        )
        draws = model.posterior_.draws(users, items).reshape(users.size, n_chains, -1)
        means.append(draws.mean(axis=2))
        spreads.append(draws.std(axis=2).mean(axis=0))

    def apart(a: Any, b: Any) -> float:
        """Return the mean square distance of two means over chains, in their variances: 1 but for chance."""
        variance = (a.var(axis=1, ddof=1) + b.var(axis=1, ddof=1)) / n_chains
        return float(((a.mean(axis=1) - b.mean(axis=1)) ** 2 / variance).mean())

    def deviations(a: Any, b: Any) -> float:
        """Return how far the mean spreads of two runs' chains are apart, in standard errors."""
        return float((a.mean() - b.mean()) / np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / n_chains))

    usual, ours = apart(means[0], means[1]), apart(means[0], means[2])
    wider = [deviations(spreads[0], other) for other in spreads[1:]]
    good = ours < 2.0 and abs(wider[1]) < 4.0
    print(
        f"{'ok ' if good else 'NOT'} means of predictions are {ours:.2f} of their variances from those on threads, two "
        f"seeds there {usual:.2f}; spreads {wider[1]:+.1f} standard errors, two seeds {wider[0]:+.1f}",
        flush=True,
    )
    return good


def noisy() -> tuple[Observations, Any, Any]:
    """Return planted answers with much noise, and all pairs of a user and an item."""
    rng = np.random.default_rng(0)
    theta, x = rng.dirichlet(np.ones(2), size=30), rng.uniform(0.1, 0.9, size=(20, 2))
    users, items = np.divmod(rng.choice(600, 300, replace=False), 20)
    answers = np.clip((theta @ x.T)[users, items] + 0.2 * rng.standard_normal(users.size), 0.0, 1.0)
    return Observations.from_arrays(users, items, answers), *np.divmod(np.arange(600), 20)


def inside(model: BayesianKolmogorovModel, test: Observations) -> float:
    """Return the share of held-out ratings inside their 90% intervals."""
    low, high = model.predict_interval(test)
    stars = test.scale.rating(test.values)
    return float(((low - 1e-9 <= stars) & (stars <= high + 1e-9)).mean())


# --- seconds ----------------------------------------------------------------------------------------------------------


def figures(cuda: Cuda) -> None:
    """Measure fits after the kernels were built: seconds in sweeps, of the whole fit, and the test error."""
    title = "Chains on a GPU; four fifths of a table to learn from, one to test on"
    table = Table("gpu-draws", title, "python benchmarks/gpu_draws.py", COLUMNS)
    hundred, million = (movielens(name).split(0.2, random_state=0) for name in ("ml-100k", "ml-1m"))
    for words, (train, test), chains, events, execution in (
        ("MovieLens 100K", hundred, 8, 8, None),
        ("MovieLens 100K", hundred, 8, 8, cuda),
        ("MovieLens 100K", hundred, 64, 8, cuda),
        ("MovieLens 100K", hundred, 8, 14, cuda),
        ("MovieLens 100K", hundred, 64, 14, cuda),
        ("MovieLens 1M", million, 4, 24, None),
        ("MovieLens 1M", million, 4, 24, cuda),
        ("MovieLens 1M", million, 16, 24, cuda),
    ):
        if execution is not None:
            parts(cuda, train, chains, events)
        where = "threads" if execution is None else "GPU"
        table.add(words, where, chains, events, 200, *one(train, test, chains, events, execution))
    likes_table = Table("gpu-draws-likes", "Yes and no: four stars and more", "python benchmarks/gpu_draws.py", LIKED)
    train, test = likes(movielens("ml-100k")).split(0.2, random_state=0)
    for chains, execution in ((8, None), (8, cuda), (64, cuda)):
        if execution is not None:
            liked(train, test, chains, execution, burn_in=1, n_samples=1)
        where = "threads" if execution is None else "GPU"
        likes_table.add(where, chains, *liked(train, test, chains, execution, **LENGTH))
    finish(table, likes_table)


def liked(
    train: Observations, test: Observations, chains: int, execution: Cuda | None, **length: int
) -> tuple[float, float, float]:
    """Fit yes and no once; return seconds, Brier score and accuracy."""
    model = BayesianKolmogorovModel(8, n_chains=chains, random_state=0, execution=execution, **length)
    began = time.perf_counter()
    model.fit(train)
    whole = time.perf_counter() - began
    scores = model.evaluate(test)
    return whole, scores["brier"], scores["accuracy"]


def one(train: Observations, test: Observations, chains: int, events: int, execution: Cuda | None) -> tuple[float, ...]:
    """Fit once; return seconds and errors."""
    marks = []
    model = BayesianKolmogorovModel(
        events,
        n_chains=chains,
        random_state=0,
        execution=execution,
        callback=lambda draw: marks.append(time.perf_counter()),
        **LENGTH,
    )
    began = time.perf_counter()
    model.fit(train)
    whole = time.perf_counter() - began
    return marks[-1] - marks[0], whole, model.evaluate(test)["rmse_rating"], inside(model, test)


def parts(cuda: Cuda, table: Observations, n: int, size: int) -> None:
    """Print milliseconds of the parts of a sweep, which builds the kernels too."""
    chains = [chain_of(table, k, size, 0.0, LEVELS, Threads(1)) for k in range(n)]
    batch = GpuChains(cuda, chains, [plain_start(chain) for chain in chains])
    batch.sweep(1, learning=True)
    took: dict[str, list[float]] = {}

    def timed(name: str, work: Any) -> None:
        cuda.cupy.cuda.Device().synchronize()
        began = time.perf_counter()
        work()
        cuda.cupy.cuda.Device().synchronize()
        took.setdefault(name, []).append(1e3 * (time.perf_counter() - began))

    for index in range(2, 12):
        timed("values", lambda k=index: batch.draw_psis(k))
        timed("thetas and noise", lambda k=index: batch.draw_thetas(k))
        rngs = [np.random.default_rng(k) for k in range(n)]
        timed("priors", lambda k=index, r=rngs: batch.learn(k, r))
        timed("learning sweep", lambda k=index: batch.sweep(k, learning=True))
        timed("other sweep", lambda k=index: batch.sweep(k, learning=False))
        timed("draws kept", batch.kept)
    print(
        f"{n} chains, D = {size}, ms:",
        ", ".join(f"{name} {np.median(ms):.2f}" for name, ms in took.items()),
        flush=True,
    )


if __name__ == "__main__":
    main()
