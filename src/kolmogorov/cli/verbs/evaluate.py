"""`kolmogorov evaluate`: errors of a model on data."""

from __future__ import annotations

from typing import Any

import click

from kolmogorov.cli.options import format_options, read_input, reading_options, scale_of
from kolmogorov.cli.paths import Input
from kolmogorov.cli.verb import Verb


@click.command("evaluate", cls=Verb)
@click.argument("model", type=Input())
@click.argument("data", type=Input(dir_okay=True))
@click.option("--folds", type=click.IntRange(2), help="Refit the model's settings on k folds of DATA and test on each.")
@click.option("--seed", default=0, show_default=True, help="Of the folds and the fits.")
@format_options
@reading_options
def command(model: str, data: str, folds: int | None, seed: int, form: str, output: str | None, **layout: Any) -> None:
    """Compare the predictions of MODEL with the ratings in DATA.

    Errors are given on the probability scale and in rating units; for 0/1 data also accuracy, log loss and
    Brier score. With --folds the model's settings are tested instead of the model: they are fitted again to all
    folds but one and tested on that one, for each.

    \b
    Examples:
      kolmogorov evaluate model.km test.csv --format json
      kolmogorov evaluate model.km ratings.csv --folds 5
    """
    from kolmogorov.cli.display import emit
    from kolmogorov.model.loading import load

    fitted_model = load(model)
    observations = read_input(data, layout, from_model=True, **scale_of(fitted_model.fitted_.scale))
    if folds is None:
        scores = fitted_model.evaluate(observations)
        columns: dict[str, Any] = {"score": list(scores), "value": list(scores.values())}
        emit(columns, form, output, f"On {len(observations):,} ratings")
        return
    import numpy as np
    from sklearn.base import clone

    results = []
    for train, test in observations.folds(folds, random_state=seed):
        fresh = clone(fitted_model).set_params(random_state=seed)
        results.append(fresh.fit(train).evaluate(test))
    names = list(results[0])
    table = np.array([[result[name] for name in names] for result in results])
    columns = {"score": names, "mean": table.mean(axis=0), "sd": table.std(axis=0, ddof=1)}
    columns |= {f"fold {k + 1}": row for k, row in enumerate(table)}
    emit({name: list(map(_plain, cells)) for name, cells in columns.items()}, form, output, f"{folds} folds")


def _plain(cell: Any) -> Any:
    return cell if isinstance(cell, str) else float(cell)
