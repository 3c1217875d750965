"""What the tables and figures share: the data, the solvers by the paper's names, times, fits, and results on disk."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from kolmogorov import KolmogorovModel, Observations, datasets, solvers
from kolmogorov.solvers import bqp

Row = dict[str, Any]
Tables = dict[str, list[Row]]
RESULTS = Path(__file__).parent / "results"

#: What the paper leaves open of the descent; with u_0 = 1, its own example, these come near its Table II.
NEAREST: dict[str, Any] = {"initial_dual": 1.0, "step": 0.2, "tol": 1e-2, "armijo": 0.3, "shrink": 0.5}
#: The line of a, of which the paper prints no value.
AS = (1.0, 2.0, 3.0, 10.0, 30.0, 100.0)
#: lambda_u and mu_i where the paper names none: those of its Table V at D = 8.
RIDGES = {"D1": (0.0, 0.0), "D2": (30.0, 0.0), "D3": (10.0, 1.5)}


# --- data --------------------------------------------------------------------------------------------------------


@cache
def split(data: str, which: int = 0) -> tuple[Observations, Any]:
    """Return training and test part.

    D1 is a toy without a test part, `which` its seed. D2 is fold u1 to u5 of MovieLens 100K for 0 to 4, then random
    80/20 splits. D3 is a random 80/20 split of MovieLens 1M.
    """
    if data == "D1":
        return datasets.load("toy", random_state=which), None
    if data == "D2" and which < 5:
        return _folds()[which]
    return datasets.load({"D2": "ml-100k", "D3": "ml-1m"}[data]).split(test_size=0.2, random_state=max(which - 5, 0))


@cache
def _folds() -> list[tuple[Observations, Observations]]:
    return datasets.folds("ml-100k")


def item_problems(table: Observations, theta: Any) -> tuple[Any, Any]:
    """Return S_i and v_i of every observed item, the normal equations of its raters' thetas."""
    view = table.columns
    grams, moments = [], []
    for first, last in zip(view.indptr[:-1], view.indptr[1:], strict=True):
        raters = theta[view.indices[first:last]]
        if last > first:
            grams.append(raters.T @ raters)
            moments.append(raters.T @ view.values[first:last])
    return np.array(grams), np.array(moments)


def toy_problems(n_events: int, seed: int = 0) -> tuple[Any, Any]:
    """Return the 40 item problems of a realisation of D1 for thetas drawn at random, as at the start of a fit."""
    toy, _ = split("D1", seed)
    return item_problems(toy, np.random.default_rng(seed).dirichlet(np.ones(n_events), toy.n_users))


def first_problems(n_events: int, realisations: int) -> tuple[Any, Any]:
    """Return the first item problem of each of so many realisations of D1."""
    grams, moments = zip(*(toy_problems(n_events, seed) for seed in range(realisations)), strict=True)
    return np.array([gram[0] for gram in grams]), np.array([moment[0] for moment in moments])


@cache
def trained_problems(data: str, n_events: int, sweeps: int = 3) -> tuple[Any, Any]:
    """Return the item problems of a training part after some sweeps of training with local search."""
    train, _ = split(data)
    changes = {"user_reg": RIDGES[data][0], "max_iter": sweeps, "item_solver": "local_search", "random_state": 0}
    return item_problems(train, KolmogorovModel.as_in_paper(n_events, **changes).fit(train).theta_)


def lifted(gram: Any, moment: Any) -> Any:
    """Return A of the homogenised problem: with x = (s + 1) / 2 the value is [1 s] A [1 s]^T and a constant."""
    half = gram.sum(axis=1) / 4 - moment / 2
    return np.block([[np.zeros((1, 1)), half[None]], [half[:, None], gram / 4]])


# --- solvers and their times -------------------------------------------------------------------------------------


def lanczos(a: float) -> str:
    """Return the label of the enhanced descent with Ritz pairs."""
    return f"lanczos, a = {a:g}"


def solver(label: str, **changes: Any) -> Any:
    """Make the solver behind a label; "printed recurrence" is Algorithm 5 without reorthogonalisation.

    "warm" goes on from the last sweep's dual points, "rough" to the gradient norm at which the descents end.
    """
    name, *rest = label.split(", ")
    options: dict[str, Any] = {}
    if name == "lanczos":
        name, options = "enhanced_gd", {"evd": "lanczos", "a": float(rest[0].removeprefix("a = "))}
        options["reorthogonalised"] = "printed recurrence" not in rest
    if name in ("gd", "enhanced_gd", "newton"):
        options |= {"warm": "warm" in rest} | ({"tol": 0.25} if "rough" in rest else {})
    if name in ("gd", "enhanced_gd"):
        options |= NEAREST
    if name == "dmo":
        options = {"max_nodes": 3_000_000}
    return solvers.resolve("binary", name, **{**options, **changes})


def available(labels: Iterable[str]) -> list[str]:
    """Leave out "sdr" where Clarabel is not installed."""
    return [label for label in labels if label != "sdr" or find_spec("clarabel")]


def timed(method: Any, gram: Any, moment: Any, start: Any = None) -> tuple[list[bqp.Solution], float]:
    """Solve all problems on one thread; return the solutions and the seconds. What is compiled, is compiled before."""
    bqp.solve_many(gram[:1], moment[:1], solver=method)
    found = bqp.solve_many(gram, moment, solver=method, start=start)
    return found, sum(solution.seconds for solution in found)


def gaps(problems: tuple[Any, Any], *, gamma: float = 100.0, **options: Any) -> list[Any]:
    """Return h(dual) - h* by iteration for each problem; h* is Newton's, and what rounding leaves of a gap is 1e-12."""
    optima = bqp.solve_many(*problems, solver="newton", gamma=gamma, trace=True, tol=1e-10)
    found = bqp.solve_many(*problems, gamma=gamma, trace=True, **options)
    traces = [(solution.trace, best.trace) for solution, best in zip(found, optima, strict=True)]
    return [np.maximum(trace - best[-1], 1e-12) for trace, best in traces if trace is not None and best is not None]


def band(curves: list[Any]) -> tuple[Any, Any, Any]:
    """Return the geometric mean by iteration and the 10% and 90% quantiles; a descent that has ended stays there."""
    length = max(map(len, curves))
    stacked = np.array([[*curve, *[curve[-1]] * (length - len(curve))] for curve in curves])
    low, high = np.quantile(stacked, [0.1, 0.9], axis=0)
    return np.exp(np.log(stacked).mean(axis=0)), low, high


def thinned(iterations: Any) -> list[int]:
    """Keep the first 30 iterations, and then every tenth."""
    return [int(k) for k in iterations if k < 30 or k % 10 == 0]


def mean(solutions: Iterable[bqp.Solution], name: str) -> float | None:
    """Return the mean of something that is known of every solution, if it is."""
    values = [getattr(solution, name) for solution in solutions]
    return None if values[0] is None else float(np.mean(values))


def deviation(values: Any) -> float:
    """Return the standard deviation; 0 of a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


# --- fits --------------------------------------------------------------------------------------------------------


class RidgeToMean(KolmogorovModel):
    """A model of which mu_i draws the values of items to the mean of the table instead of to 0."""

    _item_prior: ClassVar = "mean"


@dataclass(frozen=True)
class Fit:
    """A fit as the paper does it, from several starts: training error (start x sweep), test error, supports."""

    train: Any
    test: Any
    psi: Any

    @property
    def last(self) -> Any:
        """The training error of every start after the last sweep."""
        return self.train[:, -1]


@cache
def fitted(
    data: str,
    n_events: int,
    label: str,
    sweeps: int,
    starts: int = 1,
    *,
    ridges: tuple[float, float] | None = None,
    which: int = 0,
    to_mean: bool = False,
    **options: float,
) -> Fit:
    """Fit from several starts; for D1 every start has its own realisation of the data.

    `label` is that of a solver, or "nonnegative" for the paper's NNM; `options` are the solver's. One "as printed" is
    Algorithm 4 without our safeguards: no item keeps a better support, and no sweep is undone.
    """
    user_reg, item_reg = RIDGES[data] if ridges is None else ridges
    how: dict[str, Any] = {"psi": "soft", "user_solver": "auto", "item_solver": "auto"}
    if label != "nonnegative":
        screened = {"screened": True} if label.partition(",")[0] in ("gd", "enhanced_gd", "lanczos") else {}
        how = {"item_solver": solver(label, **screened, **options), "keep_better": "as printed" not in label}
    how |= {"user_reg": user_reg, "item_reg": item_reg, "max_iter": sweeps, "n_jobs": -1}
    train, test, psi = [], [], []
    for seed in range(starts):
        table, held = split(data, seed if data == "D1" else which)
        kind = RidgeToMean if to_mean else KolmogorovModel
        model = kind.as_in_paper(n_events, random_state=seed, **how).fit(table)
        train.append([sweep.rmse for sweep in model.history_])
        test.append(np.nan if held is None else model.evaluate(held)["rmse"])
        psi.append(model.psi_[table.columns.counts > 0])
    return Fit(np.array(train), np.array(test), np.array(psi))


def curves(data: str, fits: dict[str, Fit], **more: Any) -> list[Row]:
    """Return a row for every fit and sweep."""
    return [
        {**more, "data": data, "solver": label, "sweep": k + 1}
        | {"training RMSE": errors.mean(), "sd": deviation(errors), "starts": len(errors)}
        for label, fit in fits.items()
        for k, errors in enumerate(fit.train.T)
    ]


# --- results -----------------------------------------------------------------------------------------------------


def write(rows: Sequence[Row], path: Path) -> None:
    """Write a table as CSV, numbers to six digits."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})


def read(path: Path) -> list[Row]:
    """Read a table; what looks like a number is one, and an empty cell is None."""

    def value(text: str) -> Any:
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                pass
        return text or None

    with path.open(encoding="utf-8", newline="") as file:
        return [{name: value(text) for name, text in row.items()} for row in csv.DictReader(file)]


@dataclass
class Panel:
    """Lines to draw: label -> (x, y), perhaps with bands and levels, y perhaps in logarithms."""

    title: str
    x: str
    y: str
    lines: dict[str, tuple[Any, Any]]
    bands: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    levels: dict[str, float] = field(default_factory=dict)
    log: bool = False


def lines_of(rows: Iterable[Row], by: str, x: str, y: str) -> dict[str, tuple[list[Any], list[Any]]]:
    """Return the lines of a long table, one for each value in the column `by`."""
    lines: dict[str, tuple[list[Any], list[Any]]] = {}
    for row in rows:
        if row[y] is not None:
            xs, ys = lines.setdefault(str(row[by]), ([], []))
            xs.append(row[x])
            ys.append(row[y])
    return lines


def beside_print(rows: Iterable[Row], data: str, by: str, value: str, printed: str, **more: Any) -> Panel:
    """Return lines over D of what we find on some data, and of what the paper prints."""
    kept = [row for row in rows if row["data"] == data]
    ours, theirs = (lines_of(kept, by, "D", column) for column in (value, printed))
    return Panel(data, "D", value, ours | {f"{label}, printed": line for label, line in theirs.items()}, **more)


def draw(panels: Sequence[Panel], path: Path) -> None:
    """Draw panels side by side."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(panels), figsize=(5.2 * len(panels), 4.6), squeeze=False)
    for panel, ax in zip(panels, axes[0], strict=True):
        for label, (x, y) in panel.lines.items():
            (line,) = ax.plot(x, y, label=label, linewidth=1, marker="o" if len(x) <= 20 else None, markersize=3)
            if label in panel.bands:
                ax.fill_between(x, *panel.bands[label], color=line.get_color(), alpha=0.15, linewidth=0)
        for k, (label, height) in enumerate(panel.levels.items()):
            ax.axhline(height, linestyle=":", linewidth=1, color=f"C{k + 6}", label=label)
        ax.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
        ax.locator_params(axis="x", integer=True)
        if panel.log:
            ax.set_yscale("log")
        ax.legend(fontsize=6, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncol=2)
    figure.tight_layout()
    figure.savefig(path, dpi=100, metadata={"Software": None})
    plt.close(figure)
