"""`kolmogorov evaluate`: errors of a model on data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from kolmogorov.cli.command import Verb, chosen_format
from kolmogorov.cli.file_parameters import Input
from kolmogorov.cli.options import COUNT, format_options, read_input, reading_options, refuse_given

if TYPE_CHECKING:
    from kolmogorov.data import Observations


@click.command("evaluate", cls=Verb)
@click.argument("model", type=Input())
@click.argument("data", type=Input(dir_okay=True))
@click.option("--ranking", is_flag=True, help="Rank all items for every user, and look where those he likes are.")
@click.option("-k", "k", default=10, show_default=True, type=COUNT, help="With --ranking: length of the lists.")
@click.option("--folds", type=click.IntRange(2), help="Refit the model's settings on k folds of DATA and test on each.")
@click.option("--seed", default=0, show_default=True, help="Of the folds and the fits.")
@format_options
@reading_options
def command(
    model: str,
    data: str,
    ranking: bool,
    k: int,
    folds: int | None,
    seed: int,
    form: str,
    output: str | None,
    **layout: Any,
) -> None:
    """Compare the predictions of MODEL with the ratings in DATA.

    Errors are given on the probability scale and in rating units; for 0/1 data also accuracy, log loss and
    Brier score. Those of the means and of user and item biases of what MODEL was fitted to stand beside them. With
    --folds the model's settings are tested instead of the model: they are fitted again to all folds but one and
    tested on that one, for each.

    With --ranking lists are compared with what users like in DATA: the upper half of the ratings, of all items
    that MODEL was not fitted to for them. The list of the most popular items stands beside them.

    \b
    Examples:
      kolmogorov evaluate model.km test.csv --format json
      kolmogorov evaluate model.km ratings.csv --folds 5
      kolmogorov evaluate clicks.km later.csv --ranking -k 20
    """
    from kolmogorov.cli.display import console, emit
    from kolmogorov.cli.scores import scored
    from kolmogorov.model.loading import load

    if not ranking:
        refuse_given(["k"], "goes only with --ranking")
    length = k if ranking else None
    fitted_model = load(model)
    observations = read_input(data, layout, scale=fitted_model.fitted_.scale)
    if folds is None:
        columns, sentence = scored(fitted_model, observations, "value", length)
        emit(columns, form, output, f"On {len(observations):,} ratings")
    else:
        parts = observations.folds(folds, random_state=seed)
        sentence = _over_folds(fitted_model, parts, seed, length, form, output)
    if sentence:
        console(stderr=True).print(sentence)


def _over_folds(
    model: Any,
    parts: Iterator[tuple[Observations, Observations]],
    seed: int,
    k: int | None,
    form: str,
    output: str | None,
) -> str | None:
    """Fit the settings of a model to all folds but one, for each, and show the scores; return what is to be said."""
    import numpy as np
    from sklearn.base import clone

    from kolmogorov.cli.display import emit
    from kolmogorov.cli.scores import scored
    from kolmogorov.surface.comparison import verdict

    results = []
    for train, test in parts:
        fresh = clone(model).set_params(random_state=seed)
        results.append(scored(fresh.fit(train), test, "model", k)[0])
    names, guesses = results[0]["score"], list(results[0])[2:]
    table = np.array([result["model"] for result in results])
    columns = {"score": names, "mean": table.mean(axis=0).tolist(), "sd": table.std(axis=0, ddof=1).tolist()}
    columns |= {f"fold {number + 1}": row.tolist() for number, row in enumerate(table)}
    beside = {guess: [_mean([result[guess][n] for result in results]) for n in range(len(names))] for guess in guesses}
    if chosen_format(form, output) == "table":
        emit(columns, form, output, f"{len(results)} folds")
        emit({"score": names, "mean": columns["mean"], **beside}, form, output, "Beside simple guesses")
    else:
        emit({**columns, **beside}, form, output)
    means = {guess: dict(zip(names, cells, strict=True)) for guess, cells in beside.items()}
    return verdict(dict(zip(names, columns["mean"], strict=True)), means, "rmse" if k is None else "ndcg")


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
