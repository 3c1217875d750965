"""The first of the two steps to a Kolmogorov model: the table is completed, by a few short chains of draws."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kolmogorov._support.progress import warn
from kolmogorov._support.seeds import base_seed
from kolmogorov.data.attributes.reading import TableAttributes
from kolmogorov.data.table.observations import Observations
from kolmogorov.data.table.trainable import check_trainable
from kolmogorov.errors import ConvergenceWarning, ParameterError
from kolmogorov.execution import Cuda, Dask, Threads
from kolmogorov.fitted.posterior import Posterior
from kolmogorov.fitting.descent.objective import usual_weight
from kolmogorov.fitting.distillation.only_yes import AveragedDescents, averaged_descents
from kolmogorov.sampling.chains.event_count import told_apart
from kolmogorov.sampling.drawing import Drawing
from kolmogorov.sampling.levels import level_grid
from kolmogorov.sampling.plan import Plan, likelihood_of
from kolmogorov.sampling.sizes import short

#: Beyond so many ratings chains take minutes where a descent takes seconds; by judgement.
MOST_RATINGS = 5_000_000


def why_ratings(model: Any, table: Any) -> str | None:
    """Say why the descent of a `KolmogorovModel` goes over ratings; None where it goes over a completed table."""
    if model.learn_from == "ratings":
        return "as asked"
    if not model.keep_better:
        return "keep_better=False is for that"
    given = [name for name in ("user_reg", "item_reg") if getattr(model, name) != "auto"]
    if given or model.prior != "mean":
        return f"{' and '.join(given) or 'the uniform prior'} {'are' if len(given) > 1 else 'is'} for that"
    if not isinstance(table, Observations):
        return "the table is in a cluster"
    if model.unobserved != 0.0 and model.execution is not None:
        return "tables in which only yes is recorded are completed on threads"
    if len(table) > MOST_RATINGS:
        return f"there are {len(table):,} of them, and draws are made of up to {MOST_RATINGS:,}"
    return None


def refuse_attributes(beside: tuple[Any, Any], why: str) -> None:
    """Raise where there are frames of attributes and nothing that could use them."""
    if any(frame is not None for frame in beside):
        raise ParameterError(f"'users' and 'items' are attributes for draws, and there are none: {why}.")


def completed(
    model: Any,
    table: Observations,
    execution: Threads | Cuda | Dask,
    keep_interrupted: bool,
    beside: tuple[Any, Any] = (None, None),
) -> tuple[Posterior | AveragedDescents, bool]:
    """Draw as a `KolmogorovModel` asks for; return the draws, and whether Ctrl-C ended them early.

    Where only yes is recorded descents complete the table instead. `beside` are frames of attributes.
    """
    if model.checkpoint is not None:
        raise ParameterError(
            "'checkpoint' is for learning from ratings, which may take hours. Leave it out, or set "
            "learn_from='ratings'."
        )
    table.rows.check_intact()
    only_yes = model.unobserved != 0.0
    check_trainable(table, only_yes=only_yes)
    drawn: Posterior | AveragedDescents
    if only_yes:
        refuse_attributes(beside, "a table in which only yes is recorded is completed without chains")
        drawn, interrupted = _of_only_yes(model, table, keep_interrupted)
    else:
        drawn, interrupted = _of_chains(model, table, execution, keep_interrupted, beside)
    if interrupted:
        warn("Interrupted while the table was completed; what was done so far is used.", ConvergenceWarning)
    return drawn, interrupted


def _of_only_yes(model: Any, table: Observations, keep_interrupted: bool) -> tuple[AveragedDescents, bool]:
    usual = usual_weight(len(table), table.n_users * table.n_items)
    weight = usual if model.unobserved == "auto" else float(model.unobserved)
    seed = base_seed(model.random_state)
    return averaged_descents(table, weight, seed, model.n_jobs, model._on_sweep, keep_interrupted)


def _of_chains(
    model: Any,
    table: Observations,
    execution: Threads | Cuda | Dask,
    keep_interrupted: bool,
    beside: tuple[Any, Any],
) -> tuple[Posterior, bool]:
    likelihood = likelihood_of(table)
    sizes = short(table)
    sizes = replace(sizes, n_events=told_apart(table, sizes.n_events, sizes.n_features, model.n_jobs))
    grid = level_grid("auto", table, likelihood, sizes.n_events)
    plan = Plan(**vars(sizes), likelihood=likelihood, levels=grid)
    known = TableAttributes.read(*beside, (table.users, table.items))
    drawing = Drawing(plan, base_seed(model.random_state), model._on_draw, known=known)
    return drawing.run(table, execution, keep_interrupted=keep_interrupted)
