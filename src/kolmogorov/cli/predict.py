"""`kolmogorov predict`: probabilities for pairs."""

from __future__ import annotations

import click


@click.command("predict")
@click.argument("model", type=click.Path(dir_okay=False))
@click.argument("pairs", default="-")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="CSV file to write.  [default: standard output]")
@click.option("--sep", default="auto", show_default=True, help="Separator of the pairs.")
@click.option("--header/--no-header", default=None, help="Whether line 1 names the columns.")
@click.option(
    "--unknown",
    type=click.Choice(["average", "error"]),
    default="average",
    show_default=True,
    help="What to do with users and items that the model has not seen.",
)
def command(model: str, pairs: str, output: str | None, sep: str, header: bool | None, unknown: str) -> None:
    """Write the probability and the rating of every (user, item) of PAIRS as CSV.

    \b
    Examples:
      kolmogorov predict model.km pairs.csv -o predictions.csv
      printf '196,242\\n' | kolmogorov predict model.km
    """
    import numpy as np

    from kolmogorov.cli.display import emit
    from kolmogorov.data.readers import read_pairs
    from kolmogorov.errors import UnknownIdError
    from kolmogorov.model.persistence import load
    from kolmogorov.model.prediction import at_rows

    fitted = load(model).fitted_
    users, items = read_pairs(pairs, sep=sep, header="auto" if header is None else header)
    rows = {}
    for side, texts, names in (("user", users, fitted.users), ("item", items, fitted.items)):
        rows[side] = names.rows_of_texts(texts)
        strange = rows[side] < 0
        if unknown == "error" and strange.any():
            raise UnknownIdError(f"The model does not know {side} {texts[int(np.argmax(strange))]!r}.")
        rows[side][strange] = len(names)
    probability = at_rows(fitted, rows["user"], rows["item"])
    columns = {
        "user": users,
        "item": items,
        "probability": probability,
        "rating": fitted.scale.rating(probability),
    }
    emit(columns, "csv", output)
