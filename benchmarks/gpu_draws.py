"""Chains on an NVIDIA GPU: agreement with chains on threads, seconds, and what more of them bring.

`python benchmarks/gpu_draws.py --check` compares; without it, it measures.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from harness import Column, Table, finish, machine, movielens

import kolmogorov as km
from kolmogorov import BayesianKolmogorovModel, Observations
from kolmogorov.execution import Cuda, Threads
from kolmogorov.sampling.device_answers import AnswerDeviceChains
from kolmogorov.sampling.device_gaussian import GaussianDeviceChains
from kolmogorov.sampling.features import pattern_features
from kolmogorov.sampling.levels import AnswerChain, GaussianLevelChain

LEVELS = np.arange(-5, 11) / 5.0
#: Numbers of events, and whether entries have weights and what is not observed has one.
CASES = [
    (1, False, 0.0),
    (4, True, 0.0),
    (8, False, 0.0),
    (14, False, 0.1),
    (24, True, 0.1),
    (33, False, 0.0),
    (64, False, 0.0),
]
#: The same for chains whose answers are one of a few.
ANSWERS = [(1, "bernoulli"), (8, "bernoulli"), (16, "categorical"), (40, "bernoulli")]
#: What is liked, on the probability scale.
LIKES = 0.8
#: 200 sweeps.
LENGTH = {"burn_in": 120, "n_samples": 20, "thin": 4}
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
    good = [same_sweep(cuda, weighted if weights else ratings, size, unobserved) for size, weights, unobserved in CASES]
    good += [same_answers(cuda, ratings, size, likelihood) for size, likelihood in ANSWERS]
    good += [same_bits(cuda, ratings), same_errors(cuda, ratings), same_posterior(cuda), same_likes(cuda, ratings)]
    return len(good) - sum(good)


def some_ratings() -> Observations:
    """Return MovieLens 100K where it is, else a planted table."""
    try:
        return movielens("ml-100k")
    except SystemExit:
        return km.datasets.load("planted", n_users=2000, n_items=1500, n_events=8, n_observations=10**5, random_state=0)


def chain_of(table: Observations, seed: int, size: int, unobserved: float, dealer: Threads) -> GaussianLevelChain:
    features = pattern_features(table, 10)
    return GaussianLevelChain(
        table,
        features.users,
        n_events=size,
        n_classes=1,
        concentration=None,
        seed=seed,
        dealer=dealer,
        item_features=features.items,
        levels=LEVELS,
        unobserved=unobserved,
    )


def same_sweep(cuda: Cuda, table: Observations, size: int, unobserved: float) -> bool:
    """Sweep from the same state: values and thetas are those of a chain on threads but for a few roundings."""
    with Threads(-1) as dealer:
        chain = chain_of(table, 1, size, unobserved, dealer)
        state = chain.start()
        for index in range(1, 6):
            state = chain.sweep(state, index, learning=True)
        theirs = chain.sweep(state, 6, learning=True)
    batches = [GaussianDeviceChains(cuda, [chain, chain], [state, state]) for _ in range(2)]
    for batch in batches:
        batch.sweep(6, learning=True)
    (ours, twin), (again, _) = (batch.states() for batch in batches)
    same = all(
        np.array_equal(getattr(ours, name), getattr(other, name))
        for name in ("theta", "psi", "noise")
        for other in (twin, again)
    )
    other_values = float((ours.psi != theirs.psi).mean())
    other_thetas = float((np.abs(ours.theta - theirs.theta).max(axis=1) > 1e-4).mean())
    noise = float(np.log(ours.noise).mean() - np.log(theirs.noise).mean())
    pull = ours.users.concentration / theirs.users.concentration - 1.0
    trace = float(np.trace(ours.items.precision) / np.trace(theirs.items.precision)) - 1.0
    good = same and other_values < 2e-3 and other_thetas < 0.1 and abs(noise) < 0.05 and abs(pull) < 0.1
    print(
        f"{'ok ' if good else 'NOT'} a sweep, D = {size}{', weights' if table.weights is not None else ''}"
        f"{', unobserved' if unobserved else ''}: {other_values:.1e} of values and {other_thetas:.1e} of users differ, "
        f"log noise {noise:+.3f}, concentration {pull:+.3f}, precision {trace:+.3f}, same bits {same}",
        flush=True,
    )
    return good


def same_answers(cuda: Cuda, ratings: Observations, size: int, likelihood: str) -> bool:
    """Sweep from the same state: values are those of a chain on threads; the events behind answers are drawn anew."""
    table = likes(ratings) if likelihood == "bernoulli" else ratings
    plan = BayesianKolmogorovModel(size, likelihood=likelihood).plan(table)
    features = pattern_features(table, 10)
    with Threads(-1) as dealer:
        chain = plan.chain(table, features, 1, 0, dealer)
        assert isinstance(chain, AnswerChain)
        state = chain.start()
        for index in range(1, 41):
            state = chain.sweep(state, index, learning=True)
        theirs = chain.sweep(state, 41, learning=True)
    batches = [AnswerDeviceChains(cuda, [chain, chain], [state, state]) for _ in range(2)]
    for batch in batches:
        batch.sweep(41, learning=True)
    (ours, twin), (again, _) = (batch.states() for batch in batches)
    same = all(
        np.array_equal(getattr(ours, name), getattr(other, name))
        for name in ("theta", "psi")
        for other in (twin, again)
    )
    other_values = float((ours.psi != theirs.psi).mean())
    apart = float(np.abs(ours.theta.mean(axis=0) - theirs.theta.mean(axis=0)).max())
    spread = float(ours.theta.std() / max(theirs.theta.std(), 1e-12)) if size > 1 else 1.0
    pull = ours.alpha.sum() / theirs.alpha.sum() - 1.0
    good = same and other_values < 2e-3 and apart < 0.02 and abs(spread - 1.0) < 0.02
    print(
        f"{'ok ' if good else 'NOT'} a sweep, {likelihood}, D = {size}: {other_values:.1e} of values differ, mean "
        f"thetas by {apart:.4f}, their spread {spread:.3f}, concentration {pull:+.3f}, same bits {same}",
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
    short = {"burn_in": 10, "n_samples": 2, "thin": 2, "random_state": 0, "execution": cuda}
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


def same_posterior(cuda: Cuda) -> bool:
    """On a small table, means and spreads of predictions agree to the error of their chains."""
    table = km.datasets.load("planted", n_users=60, n_items=40, n_events=3, n_observations=700, random_state=0)
    more: dict[str, Any] = {"burn_in": 200, "n_samples": 100, "thin": 4, "n_chains": 16, "levels": tuple(LEVELS)}
    users, items = (ids.ravel() for ids in np.meshgrid(np.arange(60), np.arange(40), indexing="ij"))
    means, spreads = [], []
    for execution, seed in ((None, 0), (None, 1), (cuda, 2)):
        model = BayesianKolmogorovModel(
            3, likelihood="gaussian", concentration=20.0, random_state=seed, execution=execution, **more
        ).fit(table)
        draws = model.posterior_.draws(users, items)
        means.append(draws.mean(axis=1))
        spreads.append(draws.std(axis=1))
    usual, ours = (float(np.sqrt(((means[k] - means[0]) ** 2).mean())) for k in (1, 2))
    wide = [float(np.mean(spread)) for spread in spreads]
    good = ours < 1.5 * usual + 1e-3 and abs(wide[2] / wide[0] - 1.0) < 0.1
    print(
        f"{'ok ' if good else 'NOT'} means of predictions: {ours:.4f} from those on threads, two seeds there "
        f"{usual:.4f}; spreads {wide[0]:.4f}, {wide[1]:.4f}, GPU {wide[2]:.4f}",
        flush=True,
    )
    return good


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
            liked(train, test, chains, execution, burn_in=1, n_samples=1, thin=1)
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
    batch = GaussianDeviceChains(
        cuda, (chains := [chain_of(table, k, size, 0.0, Threads(1)) for k in range(n)]), [c.start() for c in chains]
    )
    batch.sweep(1, learning=True)
    took: dict[str, list[float]] = {}

    def timed(name: str, work: Any) -> None:
        cuda.cupy.cuda.Device().synchronize()
        began = time.perf_counter()
        work()
        cuda.cupy.cuda.Device().synchronize()
        took.setdefault(name, []).append(1e3 * (time.perf_counter() - began))

    for index in range(2, 12):
        timed("values", lambda k=index: batch.draw_values(k))
        timed("thetas and noise", lambda k=index: batch.draw_thetas(k))
        rngs = [np.random.default_rng(k) for k in range(n)]
        timed("priors", lambda k=index, r=rngs: batch.learn(k, r))
        timed("learning sweep", lambda k=index: batch.sweep(k, learning=True))
        timed("other sweep", lambda k=index: batch.sweep(k, learning=False))
        timed("draws kept", batch.samples)
    print(
        f"{n} chains, D = {size}, ms:",
        ", ".join(f"{name} {np.median(ms):.2f}" for name, ms in took.items()),
        flush=True,
    )


if __name__ == "__main__":
    main()
