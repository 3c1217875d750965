"""A model's scores for a table, with those of simple guesses beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kolmogorov.data import Observations


def scored(
    model: Any, observations: Observations, name: str, k: int | None = None
) -> tuple[dict[str, list[Any]], str | None]:
    """Return columns with a model's errors, under `name`, and those of guesses, and a sentence if it is no better.

    With `k` the scores of lists of so many items, beside the list of the most popular ones.
    """
    from kolmogorov.surface.comparison import POPULARITY, guess_scores, popularity_scores, verdict

    if k is None:
        scores = model.evaluate(observations)
        guesses = guess_scores(model.fitted_.training, observations)
    else:
        scores = model.evaluate(observations, ranking=True, k=k)
        guesses = {POPULARITY: popularity_scores(model.fitted_.training, observations, k)}
    columns: dict[str, list[Any]] = {"score": list(scores), name: list(scores.values())}
    columns |= {guess: [found.get(score) for score in scores] for guess, found in guesses.items()}
    return columns, verdict(scores, guesses, "rmse" if k is None else "ndcg")


def show_scores(
    model: Any, train: Observations, test: Observations | None, title: str, *, ranking: bool = False
) -> None:
    """Show errors, or the scores of lists of ten, with those of simple guesses beside them."""
    from kolmogorov.cli.display import console, table

    k = 10 if ranking else None
    columns, sentence = scored(model, train if test is None else test, "training" if test is None else "held out", k)
    if test is not None and not ranking:
        columns = {"score": columns.pop("score"), "training": list(model.evaluate(train).values()), **columns}
    console().print(table(title, columns))
    if sentence:
        console().print(sentence)
