"""Fits on an NVIDIA GPU beside threads: seconds of sweeps, lists and chains, and whether both agree.

`python benchmarks/gpu.py [sweeps] [large] [recommend] [draws]` measures 10^7 and 10^8 planted ratings, with `large`
10^9, at 8, 16 and 32 events; lists for all users of MovieLens 1M; chains of MovieLens 100K and 1M.
`python benchmarks/gpu.py --check` compares sweeps from the same states, lists, whole fits and chains with threads; the
tests compare the kernels one by one.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from accuracy import inside
from harness import Column, Table, finish, machine, movielens

import kolmogorov as km
from kolmogorov import Observations
from kolmogorov._support.threads import Threads
from kolmogorov.data.view import View
from kolmogorov.descent.engine import Engine
from kolmogorov.descent.problem import Problem
from kolmogorov.gpu.cuda import Cuda
from kolmogorov.gpu.descent import GpuEngine
from kolmogorov.solvers import resolve

COMMAND = "python benchmarks/gpu.py"
#: 200 sweeps of a chain.
LENGTH = {"burn_in": 120, "n_samples": 20}
#: What is liked, on the probability scale.
LIKES = 0.8


def problem(*, user_reg: float = 10.0, item_reg: float = 0.0, unobserved: float = 0.0) -> Problem:
    solvers = resolve("simplex", "active_set"), resolve("binary", "auto")
    return Problem(*solvers, user_reg, item_reg, unobserved=unobserved)


def drawn(size: int, n_chains: int, execution: Cuda | None, **more: Any) -> km.BayesianKolmogorovModel:
    return km.BayesianKolmogorovModel(size, n_chains=n_chains, random_state=0, execution=execution, **LENGTH | more)


def likes(ratings: Observations) -> Observations:
    """Return who likes what: yes from four stars on."""
    return Observations.from_arrays(ratings.user_rows(), ratings.item_rows(), (ratings.values >= LIKES).astype(float))


# --- agreement ------------------------------------------------------------------------------------------------------

#: Numbers of events, and what else is asked of a descent.
CASES: tuple[tuple[int, dict[str, Any]], ...] = (
    (1, {}), (4, {}), (8, {"item_reg": 0.3}), (16, {}), (16, {"unobserved": 0.05}), (24, {}), (64, {}),
)  # fmt: skip


def check(cuda: Cuda) -> None:
    """Compare all that runs on a GPU with threads, on MovieLens 100K where it is."""
    try:
        ratings = movielens("ml-100k")
    except SystemExit:
        sizes = {"n_users": 2000, "n_items": 1500, "n_events": 8, "n_observations": 10**5}
        ratings = km.datasets.load("planted", **sizes, random_state=0)
    cells = ratings.user_rows(), ratings.item_rows(), ratings.values
    weighted = Observations.from_arrays(*cells, weights=1.0 + cells[0] % 3)
    good = [same_sweeps(cuda, table, *case) for case in CASES for table in (ratings, weighted)]
    good += [work(cuda, ratings) for work in (same_lists, same_errors, same_bits, same_chains)]
    print("all checks passed" if all(good) else f"{len(good) - sum(good)} checks FAILED")
    sys.exit(not all(good))


def told(good: bool, words: str) -> bool:
    print("ok " if good else "NOT", words, flush=True)
    return good


def same_sweeps(cuda: Cuda, table: Observations, size: int, options: dict[str, Any]) -> bool:
    """Sweep from the same states on threads and, twice, on the GPU, three times."""
    apart, same, gap = [], True, 0.0
    with Threads(-1) as dealer:
        host, gpu = Engine(problem(**options), table, dealer), GpuEngine(problem(**options), table, cuda)
        state = host.start(np.random.default_rng(0), size)
        for index in range(1, 4):
            (found, ours), (again, _) = (gpu.sweep(gpu.spread(state), index, 1) for _ in range(2))
            same &= bool((found.theta == again.theta).all() and (found.psi == again.psi).all())
            state, record = host.sweep(state, index, 1)
            apart.append(ours.objective / record.objective - 1.0)
            gap = max(gap, gpu.gap)
    # Beyond what is enumerated two searches from different points end at different ones.
    close = max(map(abs, apart)) <= 1e-5 if size <= 16 else max(apart) <= 1e-4
    words = f"{size} events{', weights' if table.weights is not None else ''} {options or ''}: objectives of sweeps"
    return told(close and same and gap <= 1e-6, f"{words} {min(apart):+.1e} to {max(apart):+.1e}, same bits {same}")


def same_lists(cuda: Cuda, ratings: Observations) -> bool:
    """Lists from the GPU are those from threads."""
    train, test = ratings.split(0.2, random_state=0)
    users, good = train.users.ids.tolist(), True
    for words, model in answering(cuda, 8).items():
        model.fit(train)
        found = []
        for execution in (None, cuda):
            model.set_params(execution=execution)
            found.append((model._asked(users, 10)["item"], model.evaluate(test, ranking=True, k=10)["ndcg"]))
        (items, ndcg), (others, other) = found
        alike = float((items == others).mean())
        good &= told(alike == 1.0 and abs(ndcg - other) < 1e-9, f"{words}: lists agree in {alike:.3%}, nDCG {ndcg:.5f}")
    return good


def answering(cuda: Cuda, size: int) -> dict[str, Any]:
    """Return a model of each kind that answers on a GPU: one with supports, one with chances, draws."""
    common: dict[str, Any] = {"random_state": 0, "execution": cuda}
    return {
        "supports": km.KolmogorovModel(size, user_reg=10.0, item_reg=0.0, learn_from="ratings", **common),
        "chances": km.KolmogorovModel(size, psi="soft", **common),
        "80 draws": km.BayesianKolmogorovModel(size, n_chains=4, burn_in=60, n_samples=20, **common),
    }


def same_errors(cuda: Cuda, ratings: Observations) -> bool:
    """Mean test errors of whole fits differ by less than 10^-4, or by no more than chance makes them differ."""
    errors = []
    for seed in range(30):
        train, test = ratings.split(0.2, random_state=seed)
        options: dict[str, Any] = {"learn_from": "ratings", "random_state": seed}
        fits = [km.KolmogorovModel(8, **options, execution=execution).fit(train) for execution in (None, cuda)]
        errors.append([fit.evaluate(test)["rmse"] for fit in fits])
    host, gpu = np.mean(errors, axis=0)
    chance = float(np.std(np.subtract(*np.transpose(errors)), ddof=1) / np.sqrt(len(errors)))
    words = f"test RMSE over {len(errors)} seeds: threads {host:.5f}, GPU {gpu:.5f}, standard error {chance:.5f}"
    return told(abs(host - gpu) < max(1e-4, 2.0 * chance), words)


def same_bits(cuda: Cuda, ratings: Observations) -> bool:
    """A fit gives the same draws twice, and chains do not depend on how many there are."""
    fits = [drawn(8, n, cuda, burn_in=10, n_samples=2).fit(ratings).posterior_ for n in (4, 4, 3)]
    same = all(
        np.array_equal(getattr(fits[0], name)[: len(getattr(other, name))], getattr(other, name))
        for name in ("theta", "psi", "noise")
        for other in fits[1:]
    )
    return told(same, "chains: the same bits twice, and with fewer of them")


def same_chains(cuda: Cuda, ratings: Observations) -> bool:
    """Test errors of whole fits agree, of ratings and of yes and no, and intervals hold as often."""
    train, test = ratings.split(0.2, random_state=0)
    host, gpu = (drawn(8, 8, execution).fit(train) for execution in (None, cuda))
    errors = [model.evaluate(test)["rmse"] for model in (host, gpu)]
    held = [inside(model, test, 0.9) for model in (host, gpu)]
    words = f"chains: test RMSE, threads {errors[0]:.5f}, GPU {errors[1]:.5f}; inside 90% {held[0]:.3f}, {held[1]:.3f}"
    good = told(abs(errors[0] - errors[1]) < 4e-4 and abs(held[0] - held[1]) < 0.01, words)
    train, test = likes(ratings).split(0.2, random_state=0)
    brier = [drawn(8, 8, execution).fit(train).evaluate(test)["brier"] for execution in (None, cuda)]
    words = f"chains of yes and no: Brier score, threads {brier[0]:.5f}, GPU {brier[1]:.5f}"
    return told(abs(brier[0] - brier[1]) < 1e-3, words) and good


# --- sweeps ---------------------------------------------------------------------------------------------------------


@dataclass
class Planted:
    """As much of a table as engines look at."""

    n_users: int
    n_items: int
    rows: View
    columns: View
    grid: None = None

    def __len__(self) -> int:
        return self.rows.indices.size

    def check_intact(self) -> None:
        pass


def planted(cuda: Cuda, n: int) -> Planted:
    """Make skewed ratings in tenths from 16 planted events, 100 of them for each user and 1,000 for each item."""
    cp = cuda.cupy
    n_users, n_items = n // 100, n // 1000
    rng = cp.random.RandomState(1)
    counts = cp.maximum(1, cp.exp(rng.normal(0.0, 1.0, n_users) - 0.5) * n / n_users).astype(cp.int64)
    counts[0] += n - int(counts.sum()) if int(counts.sum()) < n else 0
    indptr = cp.concatenate([cp.zeros(1, cp.int64), cp.cumsum(counts)])
    size = int(indptr[-1])
    users = cp.zeros(size, cp.int32)
    users[indptr[1:-1]] = 1
    users = cp.cumsum(users, dtype=cp.int32)
    items = cp.minimum(n_items * rng.random_sample(size, dtype=cp.float32) ** 2, n_items - 1).astype(cp.int32)
    bits = rng.randint(0, 2**16, n_items).astype(cp.uint32)
    theta = rng.standard_gamma(0.3, (n_users, 16)).astype(cp.float32) + 1e-6
    theta /= theta.sum(axis=1, keepdims=True)
    values = cp.empty(size, cp.float32)
    for first in range(0, size, 1 << 24):
        part = slice(first, min(first + (1 << 24), size))
        held = ((bits[items[part]][:, None] >> cp.arange(16, dtype=cp.uint32)) & 1).astype(cp.float32)
        noise = 0.1 * rng.standard_normal(part.stop - part.start, dtype=cp.float32)
        values[part] = cp.clip(cp.rint(10.0 * ((theta[users[part]] * held).sum(axis=1) + noise)), 0.0, 10.0)
    del theta, held, noise
    rows = View(indptr.get(), items.get(), values.get().astype(np.float64) / 10.0, np.empty(0))
    order = cp.argsort(items)
    ends = cp.concatenate([cp.zeros(1, cp.int64), cp.cumsum(cp.bincount(items, minlength=n_items))])
    columns = View(ends.get(), users[order].get(), values[order].get().astype(np.float64) / 10.0, np.empty(0))
    del order, users, items, values
    cp.get_default_memory_pool().free_all_blocks()
    return Planted(n_users, n_items, rows, columns)


def sweeps(cuda: Cuda, sizes: tuple[int, ...] = (10**7, 10**8)) -> None:
    """Measure half-steps, beside threads and implicit's alternating least squares."""
    columns = [Column("ratings", ",.0f"), Column("events", "d")]
    columns += [Column(f"{part}, ms", ".1f") for part in ("items", "users", "sweep")]
    columns += [Column("sent, s", ".1f"), Column("16 threads, ms", ",.0f"), Column("implicit's ALS, ms", ",.0f")]
    table = Table("gpu", "Planted ratings, one GPU", f"{COMMAND} sweeps large", columns)
    for n in sizes:
        data: Any = planted(cuda, n)
        for size in (8, 16, 32):
            began = time.perf_counter()
            engine = GpuEngine(problem(), data, cuda)
            cuda.cupy.cuda.get_current_stream().synchronize()
            sent = time.perf_counter() - began
            items, users = halves(engine, size, 8)[3:].T
            beside = (None, None)
            if n <= 10**7 or (n == 10**8 and size == 16):
                with Threads(-1) as dealer:
                    threads = halves(Engine(problem(), data, dealer), size, 2 if n > 10**7 else 4)
                beside = threads.sum(axis=1).min(), peer_sweep(data, size)
            table.add(n, size, np.median(items), np.median(users), np.median(items + users), sent, *beside)
    finish(table, parts=True)


def halves(engine: Any, size: int, n: int) -> Any:
    """Return the milliseconds of items and users in each of n sweeps."""
    state, found = engine.start(np.random.default_rng(0), size), []
    for index in range(1, n + 1):
        state, record = engine.sweep(state, index, 1)
        found.append((1e3 * record.item_seconds, 1e3 * record.user_seconds))
    return np.array(found)


def peer_sweep(data: Planted, size: int) -> float | None:
    """Return milliseconds of an iteration of implicit's alternating least squares on the GPU, which counts what is
    missing as a no.
    """
    try:
        import implicit.gpu
        from implicit.gpu.als import AlternatingLeastSquares
    except ImportError:
        return None
    if not implicit.gpu.HAS_CUDA:
        return None
    from scipy.sparse import csr_matrix

    # It asks for arrays that may be written to, which those that were read from the GPU may not be.
    values = data.rows.values.astype(np.float32) + np.float32(0.1)
    indices, indptr = np.array(data.rows.indices), np.array(data.rows.indptr)
    table = csr_matrix((values, indices, indptr), shape=(data.n_users, data.n_items))
    took = []
    for rounds in (2, 8):
        # Marks are set before and after the iterations, which sending and transposing the table is no part of.
        marks: list[float] = []
        model = AlternatingLeastSquares(factors=size, iterations=rounds, random_state=0)
        model.fit(table, show_progress=False, callback=lambda *_, at=marks: at.append(time.perf_counter()))
        model.user_factors.to_numpy()
        took.append(time.perf_counter() - marks[0])
    # What is read at the end, and waited for, is read in both.
    return 1e3 * (took[1] - took[0]) / 6


# --- lists and chains -----------------------------------------------------------------------------------------------


def recommend(cuda: Cuda) -> None:
    """Lists of ten for all users of MovieLens 1M."""
    ratings = movielens("ml-1m")
    users = ratings.users.ids.tolist()
    columns = [Column("model"), Column("where"), Column("lists of all users, ms", ",.0f")]
    columns += [Column("the same by the mean, ms", ",.0f")]
    table = Table("gpu-recommend", "MovieLens 1M, D = 24", f"{COMMAND} recommend", columns)
    for kind, model in answering(cuda, 24).items():
        model.fit(ratings)
        for where, execution in (("GPU", cuda), ("all threads", None)):
            model.set_params(execution=execution)
            rows = []
            # Draws on threads take long enough to be timed once.
            for _ in range(1 if execution is None and model._has_draws else 4):
                marks = [time.perf_counter()]
                model._asked(users, 10)
                marks.append(time.perf_counter())
                if model._has_draws:
                    model._asked(users, 10, rank="probability")
                marks.append(time.perf_counter())
                rows.append(1e3 * np.diff(marks))
            best = np.min(rows[-3:], axis=0).tolist()
            table.add(kind, where, best[0], best[1] if model._has_draws else None)
    finish(table)


def draws(cuda: Cuda) -> None:
    """Fits by chains, after the kernels were built: seconds in sweeps, of the whole fit, and the test error."""
    columns = [Column("table"), Column("where"), *(Column(count, "d") for count in ("chains", "events", "sweeps"))]
    columns += [Column("sweeping, s", ".2f"), Column("whole fit, s", ".2f")]
    columns += [Column("test RMSE, stars", ".4f"), Column("inside 90%", ".3f")]
    title = "Chains on a GPU; four fifths of a table to learn from, one to test on"
    table = Table("gpu-draws", title, f"{COMMAND} draws", columns)
    for name, words, cases in (
        ("ml-100k", "MovieLens 100K", ((8, 8, None), (8, 8, cuda), (64, 8, cuda), (8, 14, cuda), (64, 14, cuda))),
        ("ml-1m", "MovieLens 1M", ((4, 24, None), (4, 24, cuda), (16, 24, cuda))),
    ):
        train, test = movielens(name).split(0.2, random_state=0)
        for chains, events, execution in cases:
            drawn(events, chains, execution, burn_in=1, n_samples=1).fit(train)
            marks: list[float] = []
            model = drawn(events, chains, execution, callback=lambda _, at=marks: at.append(time.perf_counter()))
            began = time.perf_counter()
            model.fit(train)
            whole = time.perf_counter() - began
            found = (marks[-1] - marks[0], whole, model.evaluate(test)["rmse_rating"], inside(model, test, 0.9))
            table.add(words, "threads" if execution is None else "GPU", chains, events, 200, *found)
    finish(table)


PARTS: dict[str, Callable[[Cuda], None]] = {
    "sweeps": sweeps,
    "large": lambda cuda: sweeps(cuda, (10**9,)),
    "recommend": recommend,
    "draws": draws,
}


def main() -> None:
    """Run the parts that were asked for."""
    print(machine())
    cuda = Cuda()
    print(cuda.found())
    with cuda:
        if "--check" in sys.argv:
            check(cuda)
        for part in sys.argv[1:] or PARTS:
            PARTS[part](cuda)


if __name__ == "__main__":
    main()
