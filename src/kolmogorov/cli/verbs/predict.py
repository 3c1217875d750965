"""`kolmogorov predict`: probabilities and ratings for pairs."""

from __future__ import annotations

from typing import Any

import click

from kolmogorov.cli.options import (
    Finite,
    layout_options,
    loaded,
    newcomer_options,
    pair_texts,
    reading_like,
    unknown_option,
)
from kolmogorov.cli.shell import Input, ModelFile, Output, Verb, doing


@click.command("predict", cls=Verb)
@click.argument("model", type=ModelFile())
@click.argument("pairs", default="-", type=Input())
@click.option("-o", "--output", type=Output(), help="CSV file to write.  [default: standard output]")
@click.option("--safe-cells", is_flag=True, help="Put ' before cells that a spreadsheet would run.")
@newcomer_options
@unknown_option("average")
@click.option(
    "--interval",
    type=Finite(0.0, 1.0, min_open=True, max_open=True),
    help="Also write the interval that holds a new rating with this probability (models of fit --bayes).",
)
@layout_options
def command(
    model: str, pairs: str, output: str | None, safe_cells: bool, unknown: Any, interval: float | None, **options: Any
) -> None:
    """Predict the rating of every (user, item) pair in PAIRS.

    Writes CSV with the probability and the rating of each pair, or one of them where they are the same; a model of
    `fit --implicit` has a score instead. PAIRS is text as `fit` takes it, parquet, or a packed table; all columns but
    the user's and the item's are ignored.

    \b
    Examples:
      kolmogorov predict model.km pairs.csv -o predictions.csv
      printf '196,242\\n' | kolmogorov predict model.km
      kolmogorov predict bayes.km pairs.csv --interval 0.9
      kolmogorov predict model.km pairs.csv --items new_films.csv
    """
    from kolmogorov.cli.display import emit, is_probability
    from kolmogorov.errors import ParameterError
    from kolmogorov.models.ids import pair_rows
    from kolmogorov.models.ranking import predicted_columns

    fitted_model = loaded(model, options | {"titles": None})
    fitted = fitted_model.fitted_
    if interval is not None and not fitted_model._has_draws:
        raise ParameterError(
            f"{model} holds a {type(fitted_model).__name__}, which has no intervals. Fit with --bayes to get them."
        )
    doing("Reading pairs from standard input" if pairs == "-" else f"Reading {pairs}")
    users, items = pair_texts(pairs, reading_like(fitted, options, pairs=True))
    doing(f"Predicting {len(users):,} pairs")
    (user_rows, item_rows), _ = pair_rows(fitted, users, items, unknown)
    columns: dict[str, Any] = {"user": users, "item": items}
    if fitted_model._has_draws:
        probability, deviation = fitted.moments(user_rows, item_rows)
        columns |= {"probability": probability, "std": deviation, "rating": fitted.scale.rating(probability)}
    else:
        columns |= predicted_columns(fitted, fitted.at_rows(user_rows, item_rows))
    if interval is not None:
        columns["low"], columns["high"] = fitted.rating_interval(user_rows, item_rows, interval)
    if is_probability(fitted.scale):
        columns.pop("rating", None)
    emit(columns, "csv", output)
