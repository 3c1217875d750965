"""`kolmogorov evaluate`: errors of a model on data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from kolmogorov.cli.command import Input, ModelFile, Verb, chosen_format, doing
from kolmogorov.cli.options import COUNT, format_options, read_input, reading_options, refuse_given

if TYPE_CHECKING:
    from kolmogorov.data import Observations


@click.command("evaluate", cls=Verb)
@click.argument("model", type=ModelFile())
@click.argument("data", type=Input(dir_okay=True))
@click.option(
    "--ranking/--errors",
    default=None,
    help="Rank all items for every user and find those they like, or measure errors.  [default: --ranking for models "
    "of fit --implicit, else --errors]",
)
@click.option("-k", "k", default=10, show_default=True, type=COUNT, help="Length of the lists.")
@click.option("--folds", type=click.IntRange(2), help="Refit the model's settings on k folds of DATA and test on each.")
@click.option("--seed", default=0, show_default=True, help="Of the folds and the fits.")
@format_options
@reading_options
def command(
    model: str,
    data: str,
    ranking: bool | None,
    k: int,
    folds: int | None,
    seed: int,
    form: str,
    output: str | None,
    **layout: Any,
) -> None:
    """Compare the predictions of MODEL with the ratings in DATA.

    Ratings that MODEL was trained on are found and kept apart, in the column "training". Errors are given on the
    probability scale and in rating units; for 0/1 data also accuracy, log loss and Brier score. Simple guesses (means,
    user and item biases) stand beside them.

    --ranking compares lists with what users like in DATA: the upper half of the ratings. A list holds no item that
    MODEL was trained on for its user. The list of the most popular items stands beside it.

    --folds tests the settings instead of the model: it fits them to all folds but one, and tests on that one, for each.

    \b
    Examples:
      kolmogorov evaluate model.km test.csv --format json
      kolmogorov evaluate model.km ratings.csv --folds 5
      kolmogorov evaluate clicks.km later.csv --ranking -k 20
    """
    from kolmogorov._support.validation import check_parameters, integer
    from kolmogorov.cli.display import console, emit, scored_apart, without_repeats
    from kolmogorov.models.loading import load

    check_parameters("evaluate", {"k": k}, {"k": integer(1)})
    doing(f"Loading {model}")
    fitted_model = load(model)
    if not (fitted_model._is_only_yes if ranking is None else ranking):
        refuse_given(["k"], "goes only with --ranking")
        length = None
    else:
        length = k
    observations = read_input(data, layout, like=fitted_model.fitted_)
    doing(f"Scoring {len(observations):,} ratings")
    if folds is None:
        columns, title, sentence = scored_apart(fitted_model, observations, length)
        if chosen_format(form, output) == "table":
            columns = without_repeats(columns, observations.scale)
        emit(columns, form, output, title)
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

    from kolmogorov.cli.display import emit, scored
    from kolmogorov.models.metrics import decisive, verdict

    results = []
    for number, (train, test) in enumerate(parts, 1):
        doing(f"Fitting fold {number}")
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
    mean = dict(zip(names, columns["mean"], strict=True))
    return verdict(mean, means, decisive(mean))


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
