"""Fits on an NVIDIA GPU: agreement with the processors, and seconds of half-steps.

`python benchmarks/gpu.py --check` compares with the engine on threads. `python benchmarks/gpu.py [sweeps] [large]
[movielens] [recommend] [draws]` measures: 10^7 and 10^8 planted ratings, with `large` 10^9, at 8, 16 and 32 events,
MovieLens 1M, lists for all users, and chains. Half-steps are timed on the host, the GPU having finished, and their sums
by CUDA events; the rates these are compared with are measured in the same run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gpu_draws
import numpy as np
from harness import Column, Table, finish, machine, movielens

import kolmogorov as km
from kolmogorov import Observations
from kolmogorov._support.threads import Threads
from kolmogorov.data.view import View
from kolmogorov.descent.engine import Engine, HalfStep, State
from kolmogorov.descent.problem import USER_SIDE, Partners, Problem
from kolmogorov.gpu.cuda import Cuda
from kolmogorov.gpu.descent import GpuEngine, row_length, summed_batches
from kolmogorov.solvers import resolve

GIGA = 1e9


def main() -> None:
    """Run the parts that were asked for."""
    print(machine())
    cuda = Cuda()
    print(cuda.found())
    with cuda:
        if "--check" in sys.argv:
            check(cuda)
            return
        for part in sys.argv[1:] or PARTS:
            PARTS[part](cuda)


# --- agreement ------------------------------------------------------------------------------------------------------


def problem(*, user_reg: float = 10.0, item_reg: float = 0.0, unobserved: float = 0.0) -> Problem:
    solvers = resolve("simplex", "active_set"), resolve("binary", "auto")
    return Problem(*solvers, user_reg, item_reg, unobserved=unobserved)


CASES: dict[str, tuple[int, dict[str, Any]]] = {
    "D = 1": (1, {}),
    "D = 4": (4, {}),
    "D = 8": (8, {"item_reg": 0.3}),
    "D = 16": (16, {}),
    "D = 24": (24, {}),
    "D = 64": (64, {}),
    "unobserved, D = 16": (16, {"unobserved": 0.05}),
}


def check(cuda: Cuda) -> None:
    """Compare sweeps from the same states, and whole fits."""
    ratings = table_to_check()
    weighted = Observations.from_arrays(
        ratings.user_rows(), ratings.item_rows(), ratings.values, weights=1.0 + ratings.user_rows() % 3
    )
    wrong = 0
    for words, (size, options) in CASES.items():
        for kind, table in (("", ratings), (", weights", weighted)):
            wrong += not same_sweeps(cuda, words + kind, table, size, options)
    wrong += not same_answers(cuda, ratings)
    wrong += not same_errors(cuda, ratings)
    wrong += gpu_draws.check(cuda)
    print("all checks passed" if not wrong else f"{wrong} checks FAILED")
    sys.exit(wrong > 0)


def table_to_check() -> Observations:
    """Return MovieLens 100K where it is, else a planted table."""
    try:
        return movielens("ml-100k")
    except SystemExit:
        return km.datasets.load("planted", n_users=2000, n_items=1500, n_events=8, n_observations=10**5, random_state=0)


def same_sweeps(cuda: Cuda, words: str, table: Observations, size: int, options: dict[str, Any]) -> bool:
    """Sweep from the same states on threads and on the GPU, three times each, twice over.

    Each half-step is compared given the same factors, and the whole sweep.
    """
    wholes, items, users, steps, same, gap = [], [], [], [], True, 0.0
    with Threads(-1) as dealer:
        host = Engine(problem(**options), table, dealer)
        gpu = GpuEngine(problem(**options), table, cuda)
        state = host.start(np.random.default_rng(0), size)
        for index in range(1, 4):
            new, record = host.sweep(state, index, 1)
            found, ours = gpu.sweep(gpu.spread(state), index, 1)
            again, _ = gpu.sweep(gpu.spread(state), index, 1)
            same = same and bool((found.theta == again.theta).all()) and bool((found.psi == again.psi).all())
            psi = gpu.collect(found).psi
            theirs, mine = (item_values(host, state, each) for each in (new.psi, psi))
            items.append((mine - theirs) / record.objective)
            users.append(ours.objective / user_objective(host, state, psi, index, dealer) - 1.0)
            wholes.append(ours.objective / record.objective - 1.0)
            _, further = gpu.sweep(found, index + 1, 1)
            steps.append(further.objective / ours.objective - 1.0)
            gap = max(gap, gpu.gap)
            state = new
    exact = size <= 16
    # Beyond what is enumerated two searches from different points end at different ones, and users follow.
    close = max(map(abs, items)) <= 1e-6 and max(map(abs, wholes)) <= 1e-5 if exact else max(wholes) <= 1e-4
    good = close and max(map(abs, users)) <= 1e-5 and same and max(steps) <= 1e-7 and gap <= 1e-6
    print(
        f"{'ok ' if good else 'NOT'} {words:41s} items {min(items):+.1e} to {max(items):+.1e}, users {min(users):+.1e} "
        f"to {max(users):+.1e}, sweeps {min(wholes):+.1e} to {max(wholes):+.1e}, same bits {same}, gap {gap:.1e}, "
        f"later sweeps {max(steps):+.1e}",
        flush=True,
    )
    return good


def item_values(host: Engine, state: State, psi: Any) -> float:
    """Return the sum of the items' problems at these psis, given the thetas of a state, on the host."""
    table, item_reg = host.table, host.problem.item_reg
    partners = Partners.of(state.theta, table.columns, host.unobserved)
    gram, moment = partners.equations(table.columns, 0, table.n_items, item_reg, np.zeros(psi.shape[1]))
    return float(np.einsum("nd,nde,ne->", psi, gram, psi) - 2.0 * np.einsum("nd,nd->", psi, moment))


def user_objective(host: Engine, state: State, psi: Any, index: int, dealer: Threads) -> float:
    """Return the objective after the users' half-step on threads, given these psis."""
    table, problem, seen = host.table, host.problem, host.seen_users
    centre = state.theta[seen].sum(axis=0) / int(seen.sum())
    step = HalfStep(problem.user_solver, problem.user_reg, centre, 1, index, USER_SIDE, host.unobserved)
    _, values = step.run(table.rows, psi, state.theta, dealer)
    pull = problem.user_reg * len(state.theta) * float(centre @ centre)
    return float(values.sum()) + pull + float(host._squares) + problem.item_reg * float((psi**2).sum())


def same_answers(cuda: Cuda, ratings: Observations) -> bool:
    """Lists from the GPU are those from the host."""
    train, test = ratings.split(0.2, random_state=0)
    users, wrong = train.users.ids.tolist(), 0
    for words, model in answering(cuda, 8).items():
        model.fit(train)
        found = []
        for execution in (None, cuda):
            model.set_params(execution=execution)
            lists = model._asked(users, 10)
            scores = model.evaluate(test, ranking=True, k=10)
            found.append((lists["item"], scores["ndcg"]))
        (items, ndcg), (others, other) = found
        alike = float((items == others).mean())
        good = alike == 1.0 and abs(ndcg - other) < 1e-9
        wrong += not good
        print(
            f"{'ok ' if good else 'NOT'} {words}: lists agree in {alike:.3%}, nDCG {ndcg:.5f} {other:.5f}",
            flush=True,
        )
    return not wrong


def answering(cuda: Cuda, size: int) -> dict[str, Any]:
    """Return a model of each kind that answers on a GPU: one with supports, one with chances, draws."""
    point: dict[str, Any] = {
        "user_reg": 10.0,
        "item_reg": 0.0,
        "learn_from": "ratings",
        "random_state": 0,
        "execution": cuda,
    }
    drawn: dict[str, Any] = {"n_chains": 4, "random_state": 0, "execution": cuda}
    return {
        "supports": km.KolmogorovModel(size, **point),
        "chances": km.KolmogorovModel(size, psi="soft", random_state=0, execution=cuda),
        "80 draws": km.BayesianKolmogorovModel(size, **drawn, burn_in=60, n_samples=20),
    }


def same_errors(cuda: Cuda, ratings: Observations) -> bool:
    """Mean test errors of whole fits differ by less than 10^-4, or by no more than chance makes them differ."""
    errors = []
    for seed in range(30):
        train, test = ratings.split(0.2, random_state=seed)
        fits = [
            km.KolmogorovModel(8, learn_from="ratings", random_state=seed, execution=execution).fit(train)
            for execution in (None, cuda)
        ]
        errors.append([fit.evaluate(test)["rmse"] for fit in fits])
    host, gpu = np.mean(errors, axis=0)
    chance = float(np.std(np.subtract(*np.transpose(errors)), ddof=1) / np.sqrt(len(errors)))
    good = abs(host - gpu) < max(1e-4, 2.0 * chance)
    print(
        f"{'ok ' if good else 'NOT'} test RMSE over {len(errors)} seeds: threads {host:.5f}, GPU {gpu:.5f}, "
        f"difference {gpu - host:+.5f} with standard error {chance:.5f}",
        flush=True,
    )
    return good


# --- tables made on the GPU ----------------------------------------------------------------------------------------


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


# --- seconds ----------------------------------------------------------------------------------------------------------


class Clock:
    """Milliseconds of the GPU between two points."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self._marks = [self._mark()]

    def _mark(self) -> Any:
        event = self._cupy.cuda.Event()
        event.record()
        return event

    def lap(self) -> float:
        self._marks.append(self._mark())
        self._marks[-1].synchronize()
        return float(self._cupy.cuda.get_elapsed_time(self._marks[-2], self._marks[-1]))


SWEEPS = [
    Column("ratings", ",.0f"),
    Column("events", "d"),
    Column("items: sums, ms", ".1f"),
    Column("items: solved, ms", ".1f"),
    Column("users: sums, ms", ".1f"),
    Column("users: solved, ms", ".1f"),
    Column("sweep, ms", ".1f"),
    Column("sums: of the copy rate", ".0%"),
    Column("sums: of the product rate", ".0%"),
    Column("sent, s", ".1f"),
    Column("16 threads, ms", ",.0f"),
    Column("plain ALS, ms", ",.0f"),
    Column("implicit's ALS, ms", ",.0f"),
]


def rates(cuda: Cuda) -> tuple[float, float]:
    """Return bytes a second of a copy within the GPU, and operations a second of a product in float64."""
    cp = cuda.cupy
    a = cp.random.random(1 << 28, dtype=cp.float32)
    b = cp.empty_like(a)
    copies = []
    for _ in range(5):
        clock = Clock(cp)
        b[...] = a
        copies.append(clock.lap())
    copy = 2 * a.nbytes / (1e-3 * min(copies))
    del a, b
    x = cp.random.random((8192, 8192))
    products = []
    for _ in range(5):
        clock = Clock(cp)
        x @ x
        products.append(clock.lap())
    flops = 2 * 8192**3 / (1e-3 * min(products))
    print(f"copy {copy / GIGA:,.0f} GB/s, products in float64 {flops / 1e12:,.0f} TFLOP/s")
    return copy, flops


def sweeps(cuda: Cuda, sizes: tuple[int, ...] = (10**7, 10**8), name: str = "gpu") -> None:
    """Measure half-steps by parts, beside 16 threads and alternating least squares written plainly."""
    copy, flops = rates(cuda)
    table = Table(
        name, "Planted ratings, one GPU", f"python benchmarks/gpu.py {'sweeps' if name == 'gpu' else 'large'}", SWEEPS
    )
    for n in sizes:
        data = planted(cuda, n)
        for size in (8, 16, 32):
            table.add(n, size, *one_size(cuda, data, size, copy, flops), *beside(cuda, data, size, n))
    finish(table)


def one_size(cuda: Cuda, data: Planted, size: int, copy: float, flops: float) -> tuple[float, ...]:
    began = time.perf_counter()
    engine = GpuEngine(problem(), data, cuda)  # type: ignore[arg-type]
    cuda.cupy.cuda.get_current_stream().synchronize()
    sent = time.perf_counter() - began
    state = engine.start(np.random.default_rng(0), size)
    records = []
    for index in range(1, 9):
        state, record = engine.sweep(state, index, 1)
        records.append(record)
    print(f"{engine.gap:.1e} gap, rmse {[round(r.rmse, 4) for r in records]}", flush=True)
    last = records[3:]
    items, users = (1e3 * float(np.median([getattr(r, f"{side}_seconds") for r in last])) for side in ("item", "user"))
    summed = {}
    for side, factors in ((engine.items, state.theta), (engine.users, state.psi)):
        times = []
        for _ in range(3):
            clock = Clock(cuda.cupy)
            for _batch in summed_batches(cuda, side, factors, size, 0.0):
                pass
            times.append(clock.lap())
        summed[side] = min(times)
    item_sums, user_sums = summed[engine.items], summed[engine.users]
    n, length = data.rows.indices.size, row_length(size)
    # Each entry is read twice, with its partner's factors: a row of floats, and a word.
    moved = n * (2 * 8 + 4 * length + 8) + 8 * length * length * (len(data.rows.indptr) + len(data.columns.indptr))
    work = n * length * (length + 8) * 2
    seconds = 1e-3 * (item_sums + user_sums)
    return (
        item_sums, items - item_sums, user_sums, users - user_sums, items + users,
        moved / seconds / copy, work / seconds / flops, sent,
    )  # fmt: skip


def beside(cuda: Cuda, data: Planted, size: int, n: int) -> tuple[float | None, ...]:
    """Return milliseconds of a sweep on all threads, of alternating least squares with CuPy's sparse products, and of
    implicit's, where it has a GPU.
    """
    if n > 10**8 or (n > 10**7 and size != 16):
        return None, None, None
    with Threads(-1) as dealer:
        engine = Engine(problem(), data, dealer)  # type: ignore[arg-type]
        state = engine.start(np.random.default_rng(0), size)
        records = []
        for index in range(1, 3 if n > 10**7 else 5):
            state, record = engine.sweep(state, index, 1)
            records.append(record)
    threads = 1e3 * min(r.user_seconds + r.item_seconds for r in records)
    return threads, least_squares(cuda, data, size), peer_sweep(data, size)


def least_squares(cuda: Cuda, data: Planted, size: int) -> float:
    """Alternate ridge regressions, with all Gram matrices as one sparse product: ours, and plain."""
    cp = cuda.cupy
    from cupyx.scipy.sparse import csr_matrix

    sides = []
    for view, n_partners in ((data.columns, data.n_users), (data.rows, data.n_items)):
        shape = (view.indptr.size - 1, n_partners)
        indptr, indices = cp.asarray(view.indptr.astype(np.int32)), cp.asarray(view.indices)
        ones = cp.ones(view.indices.size, cp.float32)
        values = cp.asarray(view.values.astype(np.float32))
        sides.append([csr_matrix((part, indices, indptr), shape=shape) for part in (ones, values)])
    factors = cp.random.random((data.n_users, size), dtype=cp.float32)
    times = []
    for _ in range(3):
        clock = Clock(cp)
        for ones, values in sides:
            products = (factors[:, :, None] * factors[:, None, :]).reshape(len(factors), size * size)
            gram = (ones @ products).reshape(-1, size, size) + 10.0 * cp.eye(size, dtype=cp.float32)
            del products
            factors = cp.linalg.solve(gram, (values @ factors)[:, :, None])[:, :, 0]
            del gram
        times.append(clock.lap())
    return min(times)


def peer_sweep(data: Planted, size: int) -> float | None:
    """Return milliseconds of an iteration of implicit's alternating least squares, which counts what is missing as a
    no; it waits for the GPU when it reads the factors at the end.
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
    # What is read at the end is read in both.
    return 1e3 * (took[1] - took[0]) / 6


def large(cuda: Cuda) -> None:
    """10^9 ratings."""
    sweeps(cuda, (10**9,), "gpu-large")


def fit_movielens(cuda: Cuda) -> None:
    """Twenty sweeps of MovieLens 1M at D = 24, after compilation, beside all threads."""
    ratings = movielens("ml-1m")
    columns = [
        Column("where"),
        Column("20 sweeps, ms", ",.0f"),
        Column("whole fit, ms", ",.0f"),
        Column("training RMSE", ".4f"),
    ]
    table = Table("gpu-movielens", "MovieLens 1M, D = 24", "python benchmarks/gpu.py movielens", columns)
    for words, execution in (("GPU", cuda), ("all threads", None)):
        rows = []
        for _ in range(3):
            model = km.KolmogorovModel(
                24,
                learn_from="ratings",
                user_reg=10.0,
                item_reg=0.0,
                psi="binary",
                max_iter=20,
                tol=0.0,
                random_state=0,
                execution=execution,
            )
            began = time.perf_counter()
            model.fit(ratings)
            whole = time.perf_counter() - began
            rows.append(
                (
                    1e3 * sum(s.user_seconds + s.item_seconds for s in model.history_),
                    1e3 * whole,
                    model.history_[-1].rmse,
                )
            )
        table.add(words, *min(rows))
    finish(table)


def recommend(cuda: Cuda) -> None:
    """Lists of ten for all users of MovieLens 1M."""
    ratings = movielens("ml-1m")
    users = ratings.users.ids.tolist()
    columns = [
        Column("model"),
        Column("where"),
        Column("lists of all users, ms", ",.0f"),
        Column("the same by the mean, ms", ",.0f"),
    ]
    table = Table("gpu-recommend", "MovieLens 1M, D = 24", "python benchmarks/gpu.py recommend", columns)
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
    """All chains of a fit at once."""
    gpu_draws.figures(cuda)


PARTS: dict[str, Callable[[Cuda], None]] = {
    "sweeps": sweeps,
    "large": large,
    "movielens": fit_movielens,
    "recommend": recommend,
    "draws": draws,
}

if __name__ == "__main__":
    main()
