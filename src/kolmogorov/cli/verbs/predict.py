"""`kolmogorov predict`: probabilities for pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kolmogorov.cli.options import Finite, output_option, unknown_option
from kolmogorov.cli.paths import Input
from kolmogorov.cli.verb import Verb, safe_cells_option

if TYPE_CHECKING:
    from kolmogorov.surface.ids import Unknown


@click.command("predict", cls=Verb)
@click.argument("model", type=Input())
@click.argument("pairs", default="-", type=Input())
@output_option("CSV file to write.  [default: standard output]")
@safe_cells_option
@click.option("--sep", default="auto", show_default=True, help="Separator of the pairs.")
@click.option("--header/--no-header", default=None, help="Whether line 1 names the columns.")
@click.option("--encoding", default="utf-8", show_default=True, help="Of the pairs.")
@unknown_option("average")
@click.option(
    "--interval",
    type=Finite(0.0, 1.0, min_open=True, max_open=True),
    help="Also write the interval that holds a new rating with this probability (models of fit --bayes).",
)
def command(
    model: str,
    pairs: str,
    output: str | None,
    sep: str,
    header: bool | None,
    encoding: str,
    unknown: Unknown,
    interval: float | None,
) -> None:
    """Write the probability and the rating of every (user, item) of PAIRS as CSV.

    \b
    Examples:
      kolmogorov predict model.km pairs.csv -o predictions.csv
      printf '196,242\\n' | kolmogorov predict model.km
      kolmogorov predict bayes.km pairs.csv --interval 0.9
    """
    from kolmogorov.cli.display import emit
    from kolmogorov.data.reading.text import read_pairs
    from kolmogorov.errors import ParameterError
    from kolmogorov.model.drawn import DrawnModel
    from kolmogorov.model.loading import load
    from kolmogorov.surface.ids import Strangers

    fitted_model = load(model)
    fitted = fitted_model.fitted_
    if interval is not None and not isinstance(fitted_model, DrawnModel):
        raise ParameterError(
            f"{model} holds a {type(fitted_model).__name__}, which knows no intervals. Fit with --bayes for them."
        )
    users, items = read_pairs(pairs, sep=sep, header="auto" if header is None else header, encoding=encoding)
    strangers = Strangers(unknown)
    user_rows = strangers.settled(fitted.users.rows_of_texts(users), fitted.user_seen, users, "user", fitted.users)
    item_rows = strangers.settled(fitted.items.rows_of_texts(items), fitted.item_seen, items, "item", fitted.items)
    strangers.tell()
    columns: dict[str, Any] = {"user": users, "item": items}
    if isinstance(fitted_model, DrawnModel):
        probability, deviation = fitted_model.fitted_.moments(user_rows, item_rows)
        columns |= {"probability": probability, "std": deviation, "rating": fitted.scale.rating(probability)}
        if interval is not None:
            low, high = fitted_model.interval_of_rows(user_rows, item_rows, interval)
            columns |= {"low": low, "high": high}
    else:
        probability = fitted.at_rows(user_rows, item_rows)
        columns |= {"probability": probability, "rating": fitted.scale.rating(probability)}
    emit(columns, "csv", output)
