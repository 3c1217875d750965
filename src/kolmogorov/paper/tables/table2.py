"""Table II: share of iterations in the four phases."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from kolmogorov.paper.claims import Claim, Trial, same_share
from kolmogorov.paper.data import FIT, NEAREST, Floats, phases_of, solved, toy_equations
from kolmogorov.paper.printed import TABLE_2
from kolmogorov.paper.result import Effort, Lines, Panel, Part, Result
from kolmogorov.solvers import resolve

_EXAMPLE, _DEFAULTS, _FIT = "u_0 = 1, step 0.2, tol 1e-2", "u_0 = 1, step 1, tol 1e-4", "the fit"
#: Settings that were tried before this search, which begins with the best of them.
_EARLIER = 850
_PRINTED = np.array(list(TABLE_2.values()), dtype=np.float64)


def parts(effort: Effort) -> list[Part]:
    """Look for a setting by random steps on some realisations of D1, D = 8, and count phases of others."""
    tried, realisations = effort.pick(10, 200), effort.pick(5, 250)
    part = partial(_searched, tried, realisations)
    return [Part(f"table2-{tried}-{realisations}", part, cost=0.25 * tried + 0.1 * realisations)]


def shares(settings: dict[str, float], seeds: range) -> Floats:
    """Return the percentages of a BQP's iterations in the four phases, averaged over realisations as the paper does."""
    method = resolve("binary", "enhanced_gd", n_draws=1, **settings)
    found: Floats = np.mean([phases_of(solved(method, *toy_equations(8, seed))[0]) for seed in seeds], axis=0)
    return found


def _searched(tried: int, realisations: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    search, check = range(realisations, realisations + 12), range(realisations)
    best, nearest = FIT, _distance(shares(FIT, search))
    for _ in range(tried):
        name = list(best)[rng.integers(len(best))]
        trial = {
            **best,
            name: min(best[name] * float(np.exp(0.25 * rng.normal())), 0.95 if name == "shrink" else np.inf),
        }
        distance = _distance(shares(trial, search))
        if distance < nearest:
            best, nearest = trial, distance
    kept = {_EXAMPLE: NEAREST, _DEFAULTS: {}, _FIT: {name: float(f"{value:.3g}") for name, value in best.items()}}
    return {
        "settings": kept,
        "tried": _EARLIER + tried + len(kept),
        "shares": {label: shares(settings, check).tolist() for label, settings in kept.items()},
    }


def _distance(found: Floats) -> float:
    apart = np.abs(found - _PRINTED)
    return float(apart.max() + 0.1 * apart.sum())


def present(found: dict[str, Any], effort: Effort) -> Result:
    """Set the shares beside the printed ones."""
    (counted,) = found.values()
    names = list(TABLE_2)
    fit = counted["settings"][_FIT]
    lines: Lines = {"paper": (list(names), _PRINTED.tolist())}
    lines |= {label: (list(names), kept) for label, kept in counted["shares"].items()}
    trials = []
    for label, kept in counted["shares"].items():
        told = " / ".join(f"{share:.0f}" for share in kept)
        agrees = all(same_share(ours, printed) for ours, printed in zip(kept, _PRINTED, strict=True))
        trials.append(Trial(label, f"{told} %, {100 - kept[3]:.0f}% need none", agrees))
    return Result(
        "Table II: share of iterations in the four phases (D1, D = 8)",
        [
            {"phase": name, "paper %": TABLE_2[name], **{label: kept[k] for label, kept in counted["shares"].items()}}
            for k, name in enumerate(names)
        ],
        [Panel("Phases of the enhanced descent", "phase", "% of iterations", lines, bars=True)],
        [
            Claim(
                "Table II",
                "37 / 9 / 8 / 46 % of the iterations are in I-A / I-B / II-A / II-B; 54% need no EVD",
                "shares of each BQP, averaged over realisations; u_0 (1 is an example), the first step, the Armijo "
                f"constants and the tolerance are open; the nearest of {counted['tried']} settings is a fit, no "
                "confirmation",
                trials,
            )
        ],
        [
            f"The fit is u_0 = {fit['initial_dual']:g}, first step {fit['step']:g}, Armijo {fit['armijo']:g}, shrink "
            f"{fit['shrink']:g}, tol {fit['tol']:g}, looked for on realisations that are not counted here. "
            f"{40 * effort.pick(5, 250):,} BQPs of {effort.pick(5, 250)} realisations of D1."
        ],
    )
