"""`kolmogorov tune`: events and regularisation by cross-validation."""

from __future__ import annotations

import math
from typing import Any

import click

from kolmogorov.cli.options import (
    COUNT,
    EVENTS,
    JOBS,
    LAYOUT,
    SCALE,
    LevelsOption,
    output_option,
    read_input,
    reading_options,
    scale_options,
    titles_option,
)
from kolmogorov.cli.paths import Input
from kolmogorov.cli.verb import Verb


def _numbers(context: click.Context, parameter: click.Parameter, text: str) -> list[float]:
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or not all(math.isfinite(number) and number >= 0 for number in numbers):
        raise click.BadParameter(f"expected numbers >= 0 separated by commas, got {text!r}.")
    return numbers


def _counts(context: click.Context, parameter: click.Parameter, text: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or not all(1 <= number <= EVENTS.max for number in numbers):  # type: ignore[operator]
        raise click.BadParameter(f"expected whole numbers >= 1 separated by commas, got {text!r}.")
    return numbers


def _worded(levels: Any) -> str:
    return str(levels) if isinstance(levels, (int, str)) else ",".join(f"{level:g}" for level in levels)


@click.command("tune", cls=Verb)
@click.argument("data", type=Input(dir_okay=True))
@output_option("Model file for the best setting, refitted.")
@click.option("--events", default="4,8,16", show_default=True, callback=_counts, help="Numbers of events to try.")
@click.option(
    "--levels",
    default=("2",),
    type=LevelsOption(),
    multiple=True,
    show_default=True,
    metavar="2|auto|V,V,...",
    help="Values of an item in an event; may be repeated to try several.",
)
@click.option("--user-reg", default="0.3,1,3,10,30,100", show_default=True, callback=_numbers, help="Values to try.")
@click.option("--item-reg", default="0,0.1", show_default=True, callback=_numbers, help="Values to try.")
@click.option("--folds", default=3, show_default=True, type=COUNT)
@click.option("--max-iter", default=50, show_default=True, type=COUNT, help="Limit on sweeps of every fit.")
@click.option("--seed", default=0, show_default=True)
@click.option("--jobs", default=-1, show_default=True, type=JOBS, help="Threads; -1 for all processors.")
@scale_options
@reading_options
@titles_option
def command(
    data: str,
    output: str | None,
    events: list[int],
    levels: tuple[Any, ...],
    user_reg: list[float],
    item_reg: list[float],
    folds: int,
    max_iter: int,
    seed: int,
    jobs: int,
    **options: Any,
) -> None:
    """Try every combination on held-out parts of DATA, print a table, and refit the best to all of it.

    \b
    Examples:
      kolmogorov tune ratings.csv -o model.km
      kolmogorov tune ratings.csv --levels 2 --levels auto --events 4,8
      kolmogorov tune ratings.csv --events 8,16,24 --user-reg 10,30,100 --folds 5
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from kolmogorov._support.wording import shown
    from kolmogorov.cli.display import console, table
    from kolmogorov.model.kolmogorov import KolmogorovModel
    from kolmogorov.model.tuning import tune

    say = console(stderr=True)
    layout = {name: options[name] for name in LAYOUT}
    observations = read_input(data, layout, **{name: options[name] for name in SCALE})
    say.print(str(observations))
    parts = ("settings", BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*parts, console=say, transient=True, disable=not say.is_terminal) as bar:
        task = bar.add_task("", total=None)

        def advance(trial: Any, number: int, total: int) -> None:
            bar.update(task, total=total, completed=number, description=f"rmse {trial.rmse:.4f}")

        found = tune(
            observations,
            n_events=events,
            levels=list(levels),
            user_reg=user_reg,
            item_reg=item_reg,
            folds=folds,
            model=KolmogorovModel(max_iter=max_iter, n_jobs=jobs),
            random_state=seed,
            refit=output is not None,
            callback=advance,
        )
    ranked = sorted(found.trials, key=lambda trial: trial.rmse)
    columns: dict[str, list[Any]] = {
        "events": [trial.n_events for trial in ranked],
        **({} if levels == (2,) else {"levels": [_worded(trial.levels) for trial in ranked]}),
        "user_reg": [f"{trial.user_reg:g}" for trial in ranked],
        "item_reg": [f"{trial.item_reg:g}" for trial in ranked],
        "rmse": [trial.rmse for trial in ranked],
        "± over folds": [trial.spread for trial in ranked],
        "in rating units": [trial.rmse * observations.scale.span for trial in ranked],
    }
    console().print(table(f"{folds}-fold cross-validation, best first", columns))
    if output is not None:
        found.model.save(output)
        say.print(f"Best setting refitted and written to {shown(output)}")
