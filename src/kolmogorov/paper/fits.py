"""Fits that several items look at: the training error by sweep, the test error, the supports."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from kolmogorov.model.kolmogorov import KolmogorovModel
from kolmogorov.paper.data import ITEM_REG, NEEDS, USER_REG, solver, split
from kolmogorov.paper.result import Panel, Part

#: Fits that take longer than this on one processor, in seconds, get several.
_LONG, _THREADS = 60.0, 4
#: Items of a dataset.
_ITEMS = {"D1": 40, "D2": 1_650, "D3": 3_680}
Found = dict[str, Any]


class RidgeToMean(KolmogorovModel):
    """A model of which mu_i draws the values of items to the mean of the table instead of to 0."""

    _item_prior: ClassVar = "mean"


@dataclass(frozen=True)
class Fit:
    """A fit as the paper does it, from several starts; for D1 every start has its own realisation of the data.

    Attributes
    ----------
    data : {"D1", "D2", "D3"}
    size : int
        D.
    label : str
        Of a solver, see `data.SOLVERS`; or "nonnegative", which is the paper's NNM.
    sweeps, seeds : int
    user_reg, item_reg : float or None
        lambda_u and mu_i; None takes what is usual for the data.
    fold : int
        Which split of the data, from 0.
    guarded : bool
        Whether an item keeps its support where rounding found a worse one, and a sweep that rises is undone.
    to_mean : bool
        Whether mu_i draws to the mean of the table.
    """

    data: Literal["D1", "D2", "D3"]
    size: int
    label: str
    sweeps: int
    seeds: int = 1
    user_reg: float | None = None
    item_reg: float | None = None
    gamma: float = 100.0
    n_draws: int = 100
    fold: int = 0
    guarded: bool = True
    to_mean: bool = False

    @property
    def ridges(self) -> tuple[float, float]:
        """lambda_u and mu_i, in numbers."""
        return (
            USER_REG[self.data] if self.user_reg is None else float(self.user_reg),
            ITEM_REG[self.data] if self.item_reg is None else float(self.item_reg),
        )

    @property
    def key(self) -> str:
        """The name of the part: all that is not as usual is in it."""
        users, items = self.ridges
        more = {
            f"draws{self.n_draws}": self.n_draws != 100,
            f"split{self.fold + 1}": self.fold != 0,
            "unguarded": not self.guarded,
            "to_mean": self.to_mean,
        }
        words = [f"fit-{self.data}-D{self.size}", re.sub(r"[^\w.]+", "_", self.label), f"{users:g}-{items:g}"]
        words += [f"gamma{self.gamma:g}", f"{self.sweeps}x{self.seeds}", *(word for word, told in more.items() if told)]
        return "-".join(words)

    @property
    def cost(self) -> float:
        """Seconds on one processor, roughly, from earlier runs."""
        if self.label in ("auto", "nonnegative"):
            row = 3e-7 * self.size**2
        else:
            slow = 10.0 if self.label in ("sdr", "quasi_newton") else 1.0
            if self.data == "D3":
                slow *= 2.0 if self.label.startswith("lanczos") else 12.0
            row = 1e-5 * self.size**1.7 * slow
        return row * _ITEMS[self.data] * self.sweeps * self.seeds

    @property
    def part(self) -> Part:
        """The part that computes the fit."""
        slots = _THREADS if self.cost > _LONG else 1
        return Part(self.key, lambda: self.compute(slots), NEEDS.get(self.label), cost=self.cost, slots=slots)

    def compute(self, n_jobs: int) -> Found:
        """Fit; return training errors by sweep, the test errors, and the supports of the last start."""
        found: Found = {"train": [], "test": []}
        for seed in range(self.seeds):
            train, test = split(self.data, seed if self.data == "D1" else self.fold)
            model = self._model(seed, n_jobs).fit(train)
            found["train"].append([round(sweep.rmse, 7) for sweep in model.history_])
            if test is not None:
                found["test"].append(round(model.evaluate(test)["rmse"], 7))
            if self.data == "D2" and self.size == 8 and self.label != "nonnegative":
                seen = train.columns.counts > 0
                found["items"] = train.items.ids[seen].tolist()
                found.setdefault("supports", []).append((model.psi_[seen] @ (1 << np.arange(self.size))).tolist())
        return found

    def _model(self, seed: int, n_jobs: int) -> KolmogorovModel:
        kind = RidgeToMean if self.to_mean else KolmogorovModel
        users, items = self.ridges
        changes: dict[str, Any] = {"levels": "chances", "user_solver": "auto", "item_solver": "auto"}
        if self.label != "nonnegative":
            options = {"gamma": self.gamma} if self.gamma != 100.0 else {}
            if self.n_draws != 100:
                options["n_draws"] = self.n_draws
            changes = {"item_solver": solver(self.label, screened=True, changes=options), "keep_better": self.guarded}
        return kind.as_in_paper(
            self.size,
            user_reg=users,
            item_reg=items,
            max_iter=self.sweeps,
            random_state=seed,
            n_jobs=n_jobs,
            **changes,
        )


def mean_curve(found: Found) -> tuple[list[float], list[float], list[float]]:
    """Return the mean training error by sweep, and it less and plus a standard deviation."""
    curves = np.array(found["train"])
    mean, spread = curves.mean(axis=0), curves.std(axis=0, ddof=min(1, len(curves) - 1))
    return mean.tolist(), (mean - spread).tolist(), (mean + spread).tolist()


def curves_panel(
    title: str, found: dict[str, Found], pale: tuple[str, ...] = (), kin: dict[str, str] | None = None
) -> Panel:
    """Draw training error by sweep for every label."""
    curves = {label: mean_curve(fits) for label, fits in found.items()}
    return Panel(
        title,
        "sweep",
        "training RMSE",
        {label: (list(range(1, len(mean) + 1)), mean) for label, (mean, _, _) in curves.items()},
        bands={label: (low, high) for label, (_, low, high) in curves.items()},
        pale=pale,
        kin=kin or {},
    )


def curve_rows(name: str, found: dict[str, Found]) -> list[dict[str, Any]]:
    """Return the table behind `curves_panel`."""
    rows = []
    for label, fits in found.items():
        for k, column in enumerate(np.array(fits["train"]).T):
            row = {"data": name, "solver": label, "sweep": k + 1, "training RMSE": float(column.mean())}
            rows.append({**row, "sd": deviation(column), "seeds": len(column)})
    return rows


def last_errors(fits: Found, sweeps: int = 0) -> Any:
    """Return the training error after so many sweeps, or the last, for every start."""
    return np.array(fits["train"])[:, sweeps - 1]


def deviation(values: Any) -> float:
    """Return the standard deviation over starts; 0 where there is one."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
