"""Tables in which only yes is recorded, completed by descents over values that may be any number.

What was not observed is known of every pair, as a no of small weight, so that there is enough to settle values without
a chain. Each descent alternates the users' problem, on the simplex, and a ridge regression for every item; several that
begin at random are averaged.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from kolmogorov._support.display import says_stop
from kolmogorov._support.seeds import generator
from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov.data.observations import Observations
from kolmogorov.descent.completion import Many
from kolmogorov.descent.engine import Engine, Run, Search, Sweep
from kolmogorov.descent.fitted import Factors
from kolmogorov.descent.problem import ONLY_YES_RIDGES, Problem
from kolmogorov.solvers import resolve

#: Sweeps of each descent; by judgement.
_SWEEPS = 6
#: Place of a random stream.
_STREAM = 7
#: The least variance of answers around predictions.
_LEAST_NOISE = 1e-6


def averaged_descents(
    table: Observations,
    unobserved: float,
    seed: int,
    n_jobs: int | None,
    on_sweep: Callable[[Sweep], Any],
    keep_interrupted: bool,
    n_descents: int = 8,
    n_events: int = 48,
) -> tuple[Many, bool]:
    """Descend some times from random users, and put the ends side by side; tell whether Ctrl-C ended it.

    After Ctrl-C, or where `on_sweep` returns True, the descents that are done are taken, where there are any. Their
    number and that of events are by judgement.
    """
    size, ends = min(n_events, table.n_users, table.n_items), list[Run]()
    users, items = resolve("simplex", "pairwise"), resolve("ridge", "cholesky")
    stopping = interrupted = False

    def told(sweep: Sweep) -> bool:
        nonlocal stopping
        stopping = stopping or says_stop(on_sweep(sweep))
        return False

    try:
        for number, start in enumerate(generator(seed, _STREAM).integers(2**62, size=n_descents).tolist()):
            problem = Problem(users, items, *ONLY_YES_RIDGES[number % len(ONLY_YES_RIDGES)], unobserved=unobserved)
            search = Search(size, start, max_iter=_SWEEPS, tol=0.0, on_sweep=told)
            with one_blas_thread(), Threads(n_jobs) as dealer:
                ends.append(search.run(Engine(problem, table, dealer)))
            if stopping:
                break
    except KeyboardInterrupt:
        if not keep_interrupted or not ends:
            raise
        interrupted = True
    theta, psi = (np.array([getattr(run.state, side) for run in ends]) for side in ("theta", "psi"))
    variance = max(float(np.mean([run.history[-1].rmse ** 2 for run in ends])), _LEAST_NOISE)
    return Many(Factors(theta, psi), table, np.full(table.n_users, variance), unobserved), interrupted
