"""A model's scores for a table, with those of simple guesses beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kolmogorov.data import Observations, Scale

HELD_OUT, TRAINING = "held out", "training"


def scored(
    model: Any, observations: Observations, name: str, k: int | None = None
) -> tuple[dict[str, list[Any]], str | None]:
    """Return columns with a model's errors, under `name`, and those of guesses, and a sentence if it is no better.

    With `k` the scores of lists of so many items, beside the list of the most popular ones.
    """
    from kolmogorov.surface.comparison import POPULARITY, decisive, guess_scores, popularity_scores, verdict

    if k is None:
        scores = model.evaluate(observations, ranking=False)
        guesses = guess_scores(model.fitted_.training, observations)
    else:
        scores = model.evaluate(observations, ranking=True, k=k)
        guesses = {POPULARITY: popularity_scores(model.fitted_.training, observations, k)}
    columns: dict[str, list[Any]] = {"score": list(scores), name: list(scores.values())}
    columns |= {guess: [found.get(score) for score in scores] for guess, found in guesses.items()}
    return columns, verdict(scores, guesses, decisive(scores))


def scored_apart(
    model: Any, observations: Observations, k: int | None = None
) -> tuple[dict[str, list[Any]], str, str | None]:
    """Score pairs that the model was not trained on; those that it was trained on get a column of their own.

    Returns the columns, a title, and a sentence where there is something to say. Lists never hold what a user was
    trained with, so such pairs are left out of them.
    """
    from kolmogorov.errors import DataError
    from kolmogorov.surface.comparison import trained_on

    trained = trained_on(model.fitted_, observations)
    number, total = int(trained.sum()), len(observations)
    if total and number == total:
        if k is not None:
            raise DataError(
                f"The model was trained on all {total:,} ratings. Lists leave these out, so nothing can be found. Give "
                "ratings that it was not trained on, or fit with --test-size."
            )
        columns, _ = scored(model, observations, TRAINING)
        warning = "The model was trained on all of these ratings: new ones will be predicted worse."
        return columns, f"On {total:,} ratings, all of the training data", warning
    fresh = observations.subset(~trained) if number else observations
    columns, sentence = scored(model, fresh, HELD_OUT, k)
    title = f"On {len(fresh):,} ratings"
    if number:
        title += " that the model was not trained on"
    if number and k is None:
        columns = _with_training(columns, model, observations.subset(trained))
        title += f"; 'training' is on the other {number:,}"
    return columns, title, sentence


def without_repeats(columns: dict[str, list[Any]], scale: Scale) -> dict[str, list[Any]]:
    """Leave out errors in rating units, for people, where these are the errors of probabilities."""
    from kolmogorov.cli.options import is_probability

    if not is_probability(scale):
        return columns
    kept = [at for at, score in enumerate(columns["score"]) if not score.endswith("_rating")]
    return {name: [cells[at] for at in kept] for name, cells in columns.items()}


def show_scores(
    model: Any, train: Observations, test: Observations | None, title: str, *, ranking: bool = False
) -> None:
    """Show errors, or the scores of lists of ten, with those of simple guesses beside them."""
    from kolmogorov.cli.display import console, table

    k = 10 if ranking else None
    columns, sentence = scored(model, train if test is None else test, TRAINING if test is None else HELD_OUT, k)
    if test is not None and not ranking:
        columns = _with_training(columns, model, train)
    console().print(table(title, without_repeats(columns, train.scale)))
    if sentence:
        console().print(sentence)


def _with_training(columns: dict[str, list[Any]], model: Any, train: Observations) -> dict[str, list[Any]]:
    """Put the scores on training data before the others."""
    found = model.evaluate(train, ranking=False)
    return {"score": columns["score"], TRAINING: [found.get(score) for score in columns["score"]], **columns}
