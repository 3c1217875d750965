"""Table V: test error on MovieLens with the printed parameters, on the paper's scales and in stars."""

from typing import Any

import numpy as np

from reproduce.baselines import rivals
from reproduce.common import AS, Panel, Row, Tables, beside_print, deviation, fitted, lanczos
from reproduce.printed import TABLE_5

KINDS = {"KM enhanced_gd": "enhanced_gd", "KM exact": "auto", "NNM": "nonnegative"}
RIDGES = ("mu_i to 0", "mu_i to the mean", "no mu_i")
FOLDS = "mean of u1 to u5"


def errors(data: str, label: str, size: int, quick: bool, which: int = 0, ridge: str = "") -> Any:
    """Return test errors with the printed lambda_u and mu_i, of several starts on the first split."""
    row = {"enhanced_gd": "KM enhanced_gd", "auto": "KM enhanced_gd", "nonnegative": "NNM"}.get(label, "KM lanczos")
    _, user_reg, item_reg = TABLE_5[data][row][size]
    starts = {"auto": 3, "nonnegative": 3, "enhanced_gd": 3 if data == "D2" else 2 if size <= 8 else 1}
    many = starts.get(label, 2 if data == "D2" else 1)
    if (data, size) == ("D2", 8) and label in ("auto", "enhanced_gd"):
        many = 10
    ridges = (user_reg, 0.0 if ridge == "no mu_i" else item_reg)
    how = {"which": which, "ridges": ridges, "to_mean": ridge == "mu_i to the mean"}
    sweeps = 3 if quick else 20 if data == "D2" else 10
    return fitted(data, size, label, sweeps, 1 if quick or which else many, **how).test


def row(data: str, model: str, reading: str, size: int, test: Any, note: str = "") -> Row:
    """Return a row; the paper divides MF and SVD++ by r_max - r_min = 4, KM and NNM by r_max = 5."""
    scale = 4.0 if model in ("MF", "SVD++") else 5.0
    paper = TABLE_5[data].get("KM enhanced_gd" if model == "KM exact" else model, {}).get(size, (None,))[0]
    stars = 5.0 * np.asarray(test)
    cells = {"data": data, "model": model, "reading": reading, "D": size, "NRMSE": stars.mean() / scale, "paper": paper}
    cells |= {"sd": deviation(stars) / scale, "stars": stars.mean(), "paper in stars": paper and paper * scale}
    return cells | {"starts": len(stars), "parameters": note}


def run(quick: bool = False) -> Tables:
    """Fit every model; D2 on u1 to u5 and three random splits, D3 on a random 80/20 split."""
    rows = []
    for data in ("D2",) if quick else ("D2", "D3"):
        first, folds = ("u1", 1 if quick else 5) if data == "D2" else ("random 80%", 1)
        for size in (4,) if quick else (4, 8, 16, 24):
            for model, label in KINDS.items():
                for ridge in RIDGES if model == "NNM" or (data, model) == ("D3", "KM exact") else ("",):
                    ending, many = f", {ridge}" if ridge else "", 1 if ridge == "no mu_i" else folds
                    found = [errors(data, label, size, quick, which, ridge) for which in range(many)]
                    for k in range(1 if model == "NNM" else many):
                        rows.append(row(data, model, (f"u{k + 1}" if k else first) + ending, size, found[k]))
                    if many > 1:
                        rows.append(row(data, model, FOLDS + ending, size, [np.mean([f.mean() for f in found])]))
            for a in (10.0,) if quick else AS if data == "D2" else (1.0, 10.0, 30.0):
                for ending in ("", ", as printed") if (data, a) == ("D2", 10.0) else ("",):
                    some = errors(data, lanczos(a) + ending, size, quick)
                    rows.append(row(data, "KM lanczos", f"{first}, a = {a:g}{ending}", size, some))
            for k in range(3 if folds > 1 else 0):
                rows.append(row(data, "KM exact", f"random {k + 1}", size, errors(data, "auto", size, quick, 5 + k)))
        rows += [row(data, *more) for more in rivals(data, first, FOLDS, quick)]
    return {"table_5": rows}


def panels(tables: Tables) -> list[Panel]:
    """Draw errors in stars, ours and printed: means of the five folds on D2, a random split of D3."""
    kinds = (FOLDS, f"{FOLDS}, mu_i to the mean", "random 80%", "random 80%, mu_i to the mean")
    shown = [row for row in tables["table_5"] if row["reading"] in kinds and row["model"] != "KM exact"]
    return [beside_print(shown, data, "model", "stars", "paper in stars") for data in ("D2", "D3")]
