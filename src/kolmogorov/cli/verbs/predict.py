"""`kolmogorov predict`: probabilities and ratings for pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kolmogorov.cli.command import Input, ModelFile, Output, Verb, doing, force_option, safe_cells_option
from kolmogorov.cli.options import (
    Finite,
    adding,
    is_probability,
    newcomer_options,
    pair_texts,
    settings_like,
    unknown_option,
    with_newcomers,
)

if TYPE_CHECKING:
    from kolmogorov.models.ids import Unknown

_UNITS = ("probability", "rating")


def _file_or_units(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> str | None:
    """Return the file to write; one of two words instead of a file says which column is wanted."""
    units = [text for text in value if text in _UNITS]
    files = [text for text in value if text not in _UNITS]
    if len(units) > 1 or len(files) > 1:
        raise click.BadParameter(f"expected one file and one of {' and '.join(_UNITS)}, got {', '.join(value)}.")
    context.meta["kolmogorov.units"] = units[0] if units else None
    return files[0] if files else None


@click.command("predict", cls=Verb)
@click.argument("model", type=ModelFile())
@click.argument("pairs", default="-", type=Input(dir_okay=True))
@click.option(
    "-o",
    "--output",
    type=Output(),
    multiple=True,
    callback=_file_or_units,
    metavar="FILE|rating|probability",
    help="CSV file to write, or which column to write alone; may be given for both.  "
    "[default: standard output, both columns; one where they are the same]",
)
@force_option
@safe_cells_option
@adding("user", "item", "sep", "header", "encoding")
@newcomer_options
@unknown_option("average")
@click.option(
    "--interval",
    type=Finite(0.0, 1.0, min_open=True, max_open=True),
    help="Also write the interval that holds a new rating with this probability (models of fit --bayes).",
)
@click.pass_context
def command(
    context: click.Context,
    /,
    model: str,
    pairs: str,
    output: str | None,
    unknown: Unknown,
    interval: float | None,
    **layout: Any,
) -> None:
    """Predict the rating of every (user, item) pair in PAIRS.

    Writes CSV with the probability and the rating of each pair; a model of `fit --implicit` has a score instead.

    PAIRS is text as `fit` takes it, parquet, or a packed table; all columns but the user's and the item's are ignored.

    \b
    Examples:
      kolmogorov predict model.km pairs.csv -o predictions.csv
      kolmogorov predict model.km pairs.csv --output rating
      printf '196,242\\n' | kolmogorov predict model.km
      kolmogorov predict bayes.km pairs.csv --interval 0.9
      kolmogorov predict model.km pairs.csv --items new_films.csv
    """
    from kolmogorov.cli.display import emit
    from kolmogorov.draws.posterior import rating_interval
    from kolmogorov.errors import ParameterError
    from kolmogorov.models.bayesian import BayesianKolmogorovModel
    from kolmogorov.models.ids import Strangers
    from kolmogorov.models.loading import load
    from kolmogorov.models.ranking import predicted_columns

    doing(f"Loading {model}")
    fitted_model = with_newcomers(load(model), model, layout)
    fitted = fitted_model.fitted_
    if interval is not None and not isinstance(fitted_model, BayesianKolmogorovModel):
        raise ParameterError(
            f"{model} holds a {type(fitted_model).__name__}, which has no intervals. Fit with --bayes to get them."
        )
    doing("Reading pairs from standard input" if pairs == "-" else f"Reading {pairs}")
    users, items = pair_texts(pairs, settings_like(fitted.recipe, layout, {"wide": False, "keep": None, "ignore": ()}))
    doing(f"Predicting {len(users):,} pairs")
    strangers = Strangers(unknown)
    user_rows = strangers.settled(fitted.users.rows_of(users), fitted.user_known, users, "user", fitted.users)
    item_rows = strangers.settled(fitted.items.rows_of(items), fitted.item_known, items, "item", fitted.items)
    strangers.tell_of_pairs()
    columns: dict[str, Any] = {"user": users, "item": items}
    if isinstance(fitted_model, BayesianKolmogorovModel):
        probability, deviation = fitted_model.fitted_.moments(user_rows, item_rows)
        columns |= {"probability": probability, "std": deviation, "rating": fitted.scale.rating(probability)}
        if interval is not None:
            low, high = rating_interval(fitted_model.fitted_, user_rows, item_rows, interval)
            columns |= {"low": low, "high": high}
    else:
        columns |= predicted_columns(fitted, fitted.at_rows(user_rows, item_rows))
    units = context.meta["kolmogorov.units"]
    if units is not None and units not in columns:
        raise ParameterError(f"{model} is a model of lists: it has a score, no {units}. Leave --output {units} out.")
    repeated = ("rating",) if is_probability(fitted.scale) else ()
    unwanted = {"probability": ("rating",), "rating": ("probability", "std"), None: repeated}[units]
    emit({name: column for name, column in columns.items() if name not in unwanted}, "csv", output)
