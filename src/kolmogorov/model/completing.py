"""The first of the two steps to a Kolmogorov model: the table is completed, by a few short chains of draws."""

from __future__ import annotations

import numbers
import sys
from typing import Any

from kolmogorov._support.progress import says_stop, warn
from kolmogorov._support.seeds import base_seed
from kolmogorov.data.table.observations import Observations
from kolmogorov.data.table.trainable import check_trainable
from kolmogorov.errors import ConvergenceWarning, ParameterError
from kolmogorov.execution import Cuda, Dask, Threads
from kolmogorov.fitted.posterior import Posterior
from kolmogorov.fitting.descent.objective import usual_weight
from kolmogorov.fitting.distillation.relaxation import Average, averaged_descents
from kolmogorov.sampling.drawing import Drawing
from kolmogorov.sampling.levels import level_grid
from kolmogorov.sampling.plan import Plan, likelihood_of
from kolmogorov.sampling.sampler import SamplingProgress
from kolmogorov.sampling.sizes import short

#: Beyond so many ratings chains take minutes where a descent takes seconds.
MOST_RATINGS = 5_000_000
#: Sweeps of a chain that only compares settings, at least: half of them are kept.
_LEAST_SWEEPS = 10


def completed(
    model: Any, table: Observations, execution: Threads | Cuda | Dask, effort: float, keep_interrupted: bool
) -> tuple[Posterior | Average, bool]:
    """Draw as a `KolmogorovModel` asks for; return the draws, and whether Ctrl-C ended them early.

    Where only yes is recorded descents complete the table instead.
    """
    table.rows.check_intact()
    only_yes = model.unobserved != 0.0
    check_trainable(table, only_yes=only_yes)
    drawn: Posterior | Average
    if only_yes:
        drawn, interrupted = _of_only_yes(model, table, keep_interrupted)
    else:
        drawn, interrupted = _of_chains(model, table, execution, effort, keep_interrupted)
    if interrupted:
        warn("Interrupted while the table was completed; what was done so far is used.", ConvergenceWarning)
    return drawn, interrupted


def _of_only_yes(model: Any, table: Observations, keep_interrupted: bool) -> tuple[Average, bool]:
    if model.checkpoint is not None:
        raise ParameterError(
            "'checkpoint' is for chains and for learning from ratings; a table in which only yes is recorded is "
            "completed without chains. Leave it out, or set learn_from='ratings'."
        )
    usual = usual_weight(len(table), table.n_users * table.n_items)
    weight = usual if model.unobserved == "auto" else float(model.unobserved)
    seed = base_seed(model.random_state)
    return averaged_descents(table, weight, seed, model.n_jobs, model._on_sweep, keep_interrupted)


def _of_chains(
    model: Any, table: Observations, execution: Threads | Cuda | Dask, effort: float, keep_interrupted: bool
) -> tuple[Posterior, bool]:
    likelihood = likelihood_of(table)
    sizes = short(table, cut=likelihood == "bernoulli")
    lengths = {
        "burn_in": max(_LEAST_SWEEPS, round(effort * sizes.burn_in)),
        "n_samples": max(_LEAST_SWEEPS // 2, round(effort * sizes.n_samples)),
    }
    grid = level_grid("auto", table, likelihood, sizes.n_events)
    plan = Plan(**vars(sizes) | lengths, likelihood=likelihood, levels=grid)

    def told(progress: SamplingProgress) -> bool:
        if model.verbose:
            place = f"chain {progress.chain + 1}/{progress.n_chains}"
            sys.stderr.write(f"{place}  sweep {progress.sweep}/{progress.n_sweeps}\n")
        return model.callback is not None and says_stop(model.callback(progress))

    fixed = isinstance(model.random_state, numbers.Integral)
    drawing = Drawing(plan, base_seed(model.random_state), told, model.checkpoint, fixed)
    return drawing.run(table, execution, keep_interrupted=keep_interrupted)
