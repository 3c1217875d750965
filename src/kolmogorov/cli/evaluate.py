"""`kolmogorov evaluate`: errors of a model on data."""

from __future__ import annotations

from typing import Any

import click

from kolmogorov.cli.options import format_options, read_input, reading_options, scale_of


@click.command("evaluate")
@click.argument("model", type=click.Path(dir_okay=False))
@click.argument("data")
@format_options
@reading_options
def command(model: str, data: str, form: str, output: str | None, **layout: Any) -> None:
    """Compare the predictions of MODEL with the ratings in DATA.

    Errors are given on the probability scale and in rating units; for 0/1 data also accuracy, log loss and
    Brier score.

    \b
    Example:
      kolmogorov evaluate model.km test.csv --format json
    """
    from kolmogorov.cli.display import emit
    from kolmogorov.model.persistence import load

    fitted_model = load(model)
    observations = read_input(data, layout, from_model=True, **scale_of(fitted_model.scale_))
    scores = fitted_model.evaluate(observations)
    emit(
        {"score": list(scores), "value": list(scores.values())},
        form,
        output,
        f"On {len(observations):,} ratings",
    )
