"""Errors found in the paper, each with a proof in a line and a counter-example that is computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from kolmogorov.bqp import solve
from kolmogorov.kernels.rows.quadratic import batch_values
from kolmogorov.model.kolmogorov import KolmogorovModel
from kolmogorov.paper.data import equations, split, toy_problems
from kolmogorov.paper.printed import EXAMPLE, TABLE_3, TABLE_5
from kolmogorov.paper.result import Effort, Part, Result


@dataclass(frozen=True)
class Erratum:
    """What is printed, what holds instead, the smallest example, and a check that is true where the example works.

    `arithmetic` tells that the check only compares numbers that the paper prints.
    """

    where: str
    printed: str
    instead: str
    example: str
    check: Callable[[], bool]
    arithmetic: bool = False


def implication() -> bool:
    """In the paper's own model film 1 can be liked without film 2: event 1 has probability 0.4 for user 1."""
    theta, (psi_1, psi_2) = EXAMPLE["theta"][0], EXAMPLE["psi"]
    return bool(
        all(a >= b for a, b in zip(psi_1, psi_2, strict=True))
        and sum(t for t, a, b in zip(theta, psi_1, psi_2, strict=True) if a and not b) > 0
    )


def not_semidefinite() -> bool:
    """C = diag(1, -1) is not PSD, and its positive part is not zero."""
    values = np.linalg.eigvalsh(np.diag([1.0, -1.0]))
    return bool(values[0] < 0 and np.maximum(values, 0).sum() > 0)


def linear_piece() -> bool:
    """At three equidistant dual points far up h is linear, so it has no curvature there."""
    problem = toy_problems(4, 1)[0]
    h = [float(trace[0]) for trace in (_trace(problem, dual) for dual in (50.0, 60.0, 70.0))]
    return bool(abs(h[0] - 2 * h[1] + h[2]) <= 1e-9 and abs(h[1] - 60.0 * (problem.size + 1)) <= 1e-9)


def _trace(problem: Any, dual: float) -> Any:
    return solve(problem, solver="enhanced_gd", initial_dual=dual, max_iter=1, trace=True).trace


def singular_value() -> bool:
    """For C = -1 1^T of size 5 the largest singular value is 5, its 'upper bound' 3, and the l1 norm 5 as well."""
    c = -np.ones((5, 5))
    mean = np.trace(c) / 5
    spread = np.sqrt(np.trace(c @ c) / 5 - mean**2)
    upper = mean + 2 * spread
    return bool(np.linalg.norm(c, 2) > upper + 1 and np.abs(c).sum() / 5 > upper + 1)


def returns() -> bool:
    """Find a descent that goes from a point that needs an EVD back to one that Weyl's inequality settles."""
    options = {"initial_dual": 10.0, "step": 20.0, "armijo": 0.01, "shrink": 0.9, "tol": 1e-2, "trace": True}
    return any(
        goes_back(problem, solve(problem, solver="enhanced_gd", **options).dual_trace)  # type: ignore[arg-type]
        for problem in toy_problems(4, 40)
    )


def goes_back(problem: Any, points: Any) -> bool:
    """Tell whether phase II-A comes after II-B among dual points."""
    size = problem.size
    row = problem.gram.sum(axis=1)
    lifted = np.zeros((size + 1, size + 1))
    lifted[1:, 1:] = problem.gram / 4
    lifted[0, 1:] = lifted[1:, 0] = row / 4 - problem.moment / 2
    top = np.linalg.eigvalsh(-lifted)[-1]
    second = [point for point in points if np.ptp(point) > 0]
    settled = [bool(top - point.min() <= 0) for point in second]
    return any(not a and b for a, b in pairwise(settled))


def scales() -> bool:
    """In stars the printed KM is worse than the printed MF on D2, at D = 4 and 24."""
    km, mf = TABLE_5["D2"]["KM enhanced_gd"], TABLE_5["D2"]["MF"]
    return all(5 * km[size][0] > 4 * mf[size][0] for size in (4, 8, 24))


def worse_support() -> bool:
    """Find an item whose new support is worse than the one it had, in a sweep of Algorithm 4 as printed."""
    toy, _ = split("D1")
    settings = {"user_reg": 0.0, "keep_better": False, "random_state": 0, "n_jobs": 1}
    before, after = (KolmogorovModel.as_in_paper(20, max_iter=n, **settings).fit(toy) for n in (3, 4))
    gram, moment = equations(toy, before.theta_)
    had, got = np.empty(len(moment)), np.empty(len(moment))
    for model, values in ((before, had), (after, got)):
        batch_values(gram, moment, model.psi_.astype(np.float64), values)
    return bool((got > had + 1e-6).any())


def lcqp_share() -> bool:
    """Divide the printed seconds."""
    users, items = TABLE_3["D1"]["enhanced_gd"]
    return users / items > 1.5


ERRATA: dict[str, Erratum] = {
    "implication": Erratum(
        "Section II-B3, Table VI",
        "supp(psi_j) in supp(psi_i) gives X_i = 1 => X_j = 1",
        "X_j = 1 => X_i = 1, and X_i = 0 => X_j = 0; `relations()` means this",
        "X_j = 1 says that the event lies in supp(psi_j), hence in supp(psi_i). The paper's example itself: event 1, "
        "of probability 0.4, makes film 1 liked and film 2 not",
        implication,
        arithmetic=True,
    ),
    "not_semidefinite": Erratum(
        "Section III-B, Prop. 1",
        "C not PSD => the penalty is zero and the gradient 1",
        "C without a positive eigenvalue; Algorithm 2 tests just that",
        "C = diag(1, -1) is not PSD and its positive part is diag(1, 0)",
        not_semidefinite,
    ),
    "linear_piece": Erratum(
        "Section III, Prop. 2",
        "h is strongly convex ('strongly concave (piecewise linear)' for -h)",
        "h is convex, smooth, and linear where C has no positive eigenvalue; near the optimum the curvature is "
        "measured",
        "there h(u) = sum(u). A function cannot be strongly concave and piecewise linear",
        linear_piece,
    ),
    "singular_value": Erratum(
        "Lemma 3",
        "UB and LB bound the largest singular value, and the normalised l1 norm lies between them",
        "they bound the largest eigenvalue (Wolkowicz and Styan); delta is a heuristic",
        "C = -ones(5, 5): singular value 5, l1 norm 5, UB = 3",
        singular_value,
    ),
    "returns": Erratum(
        "Section III-B",
        "the four sub-phases come 'in order and irreversibly'",
        "a descent can go back from II-B to II-A; phases are recorded as they are",
        "a long step can lift every dual variable above lambda_max(-A): seen with u_0 = 10, first step 20, Armijo "
        "0.01, shrink 0.9",
        returns,
    ),
    "scales": Erratum(
        "Table V",
        "the NRMSE of KM (0.1891) and of MF (0.2269) are compared",
        "errors in stars: 0.9455 and 0.9076",
        "KM's errors are divided by r_max = 5, MF's by r_max - r_min = 4",
        scales,
        arithmetic=True,
    ),
    "worse_support": Erratum(
        "Section III-D",
        "Algorithm 4 'converges to a stationary point'",
        "it need not descend: a support can get worse from one sweep to the next; ours is then kept (`keep_better`)",
        "D1, D = 20, fourth sweep as printed: the best of 100 roundings is worse than the support that an item had",
        worse_support,
    ),
    "lcqp_share": Erratum(
        "Section V-A, Table III",
        "the cost of the LCQP is negligible compared to that of the BQP",
        "so it is with SDRwR and DMO; with enhanced GD on D1 it is 1.59 times the BQP's, by the printed seconds",
        "0.137 s / 0.0860 s",
        lcqp_share,
        arithmetic=True,
    ),
}


def parts(effort: Effort) -> list[Part]:
    """Run every check."""
    return [Part("errata-checks", lambda: {name: one.check() for name, one in ERRATA.items()}, cost=10.0)]


def present(found: dict[str, Any], effort: Effort) -> Result:
    """List them."""
    (checked,) = found.values()
    return Result(
        "Errors found in the paper",
        [
            {
                "where": one.where,
                "printed": one.printed,
                "what holds instead": one.instead,
                "smallest example": one.example,
                "how we know": "FAILED" if not checked[name] else "arithmetic" if one.arithmetic else "checked",
            }
            for name, one in ERRATA.items()
        ],
        sentences=[
            "None of them touches the method, and where we are wrong the examples will show it. *Checked*: the example "
            "is computed by a function of `kolmogorov.paper.theory.errata`, and is a test. *Arithmetic*: it follows "
            "from what is printed."
        ],
    )
