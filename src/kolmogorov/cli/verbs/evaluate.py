"""`kolmogorov evaluate`: errors of a model on data."""

from __future__ import annotations

from typing import Any

import click

from kolmogorov.cli.options import Count, format_options, layout_options, loaded, read_input
from kolmogorov.cli.shell import Input, ModelFile, Verb, doing


@click.command("evaluate", cls=Verb)
@click.argument("model", type=ModelFile())
@click.argument("data", type=Input())
@click.option(
    "--ranking/--errors",
    default=None,
    help="Rank all items for every user and find those they like, or measure errors.  [default: --ranking for models "
    "of fit --implicit, else --errors]",
)
@click.option("-k", "--k", default=10, show_default=True, type=Count(), help="Length of the lists.")
@format_options
@layout_options
def command(model: str, data: str, ranking: bool | None, k: int, form: str, output: str | None, **options: Any) -> None:
    """Compare the predictions of MODEL with the ratings in DATA that it was not trained on.

    Errors are given on the probability scale and in rating units; for 0/1 data also accuracy, log loss and Brier score.
    Simple guesses (means, user and item biases) stand beside them. --ranking compares lists with what users like in
    DATA: the upper half of the ratings; the list of the most popular items stands beside it. To test settings by
    cross-validation, see `kolmogorov tune`.

    \b
    Examples:
      kolmogorov evaluate model.km test.csv --format json
      kolmogorov evaluate clicks.km later.csv --ranking -k 20
    """
    from kolmogorov.cli.display import chosen_format, console, emit, for_people, held_out_scores
    from kolmogorov.errors import DataError
    from kolmogorov.models.metrics import held_out

    fitted_model = loaded(model, options)
    observations = read_input(data, options, like=fitted_model.fitted_)
    doing(f"Scoring {len(observations):,} ratings")
    fresh = held_out(fitted_model.fitted_, observations)
    if len(observations) and not len(fresh):
        raise DataError(
            f"The model was trained on all {len(observations):,} ratings of {data}: nothing is learned from its errors "
            "there. Give other ratings, or fit with --test-size 0.2."
        )
    lists = fitted_model._is_only_yes if ranking is None else ranking
    columns, sentence = held_out_scores(fitted_model, fresh, k if lists else None)
    if chosen_format(form, output) == "table":
        columns = for_people(columns, observations.scale)
    known = len(observations) - len(fresh)
    others = f"; {known:,} others are of the training data" if known else ""
    emit(columns, form, output, f"On {len(fresh):,} ratings{others}")
    if sentence:
        console(stderr=True).print(sentence)
