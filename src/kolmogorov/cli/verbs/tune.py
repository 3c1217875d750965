"""`kolmogorov tune`: events and regularisation by cross-validation."""

from __future__ import annotations

from typing import Any

import click

from kolmogorov.cli.options import (
    Count,
    Finite,
    jobs_option,
    read_input,
    reading_options,
    seed_option,
    value_of,
)
from kolmogorov.cli.shell import Input, Output, Verb, doing


def _grid(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, list[Any]]:
    """Read the values to try of parameters: user_reg=10,30."""
    found = {}
    for text in texts:
        name, mark, values = text.partition("=")
        if not mark:
            raise click.BadParameter(f"expected NAME=VALUE,VALUE,..., such as user_reg=10,30, got {text!r}.")
        found[name.strip().replace("-", "_")] = [value_of(value.strip()) for value in values.split(",")]
    return found


def _counts(context: click.Context, parameter: click.Parameter, text: str | None) -> list[int] | None:
    parts = [] if text is None else text.split(",")
    if not all(part.isdecimal() and 1 <= int(part) <= 1_000_000 for part in parts):
        raise click.BadParameter(f"expected whole numbers >= 1 separated by commas, got {text!r}.")
    return [int(part) for part in parts] or None


@click.command("tune", cls=Verb)
@click.argument("data", type=Input())
@click.option("-o", "--output", type=Output(), help="Model file for the best setting, refitted.")
@click.option("--bayes/--point", default=False, help="Tune draws, or one model.  [default: --point]")
@click.option("--events", callback=_counts, help="Numbers of events to try.  [default: by the size of the table]")
@click.option("--psi", type=click.Choice(["binary", "soft"]), multiple=True, help="Repeatable, to try both.")
@click.option(
    "--try",
    "grid",
    multiple=True,
    callback=_grid,
    metavar="NAME=V,V,...",
    help="Values to try of another parameter of the model: user_reg=10,30,100 (which learns from ratings).",
)
@click.option("--folds", "k", default=3, show_default=True, type=Count())
@click.option("--max-seconds", type=Finite(), help="After this time no other setting is tried.")
@seed_option
@jobs_option
@reading_options
def command(data: str, output: str | None, bayes: bool, grid: dict[str, Any], k: int, **options: Any) -> None:
    """Find good settings by cross-validation, and refit the best.

    Settings are compared on held-out parts of DATA; the best is fitted again to all of it. Ctrl-C stops the search and
    takes the best so far. Below the table are the errors of simple guesses on the same parts.

    \b
    Examples:
      kolmogorov tune ratings.csv -o model.km
      kolmogorov tune ratings.csv --psi binary --psi soft --events 4,8
      kolmogorov tune ratings.csv --events 8,16,24 --try user_reg=10,30,100 --folds 5
      kolmogorov tune ratings.csv --bayes --events 8,16 --max-seconds 300 -o model.km
    """
    from kolmogorov._support.markup import shown
    from kolmogorov.cli.display import console, counting_bar
    from kolmogorov.models.bayesian import BayesianKolmogorovModel
    from kolmogorov.models.kolmogorov import KolmogorovModel
    from kolmogorov.models.tuning import OF_RATINGS, tune

    say, model = console(stderr=True), (BayesianKolmogorovModel if bayes else KolmogorovModel)()
    model.set_params(n_jobs=options["n_jobs"], unobserved="auto" if options["implicit"] else 0.0)
    if grid.keys() & set(OF_RATINGS) and not bayes:
        model.set_params(learn_from="ratings")
    tried = {"n_events": options["events"], "psi": options["psi"], **grid}
    tried = {name: values for name, values in tried.items() if values}
    observations = read_input(data, options)
    say.print("\n".join([*(observations.source.lines() if observations.source else ()), str(observations)]))
    doing(None if say.is_terminal else "Comparing settings")
    with counting_bar(say, "trials") as show:
        found = tune(
            observations,
            folds=k,
            model=model,
            random_state=options["random_state"],
            refit=output is not None,
            max_seconds=options["max_seconds"],
            callback=lambda setting, score, number, total: show(number, total, f"{score:.4f}"),
            **tried,
        )
    _show(found, k, observations.scale.span)
    if output is not None:
        found.model.save(output)
        say.print(f"Best setting refitted and written to {shown(output)}")


def _show(found: Any, folds: int, span: float) -> None:
    """Print the trials and, below them, what simple guesses reach."""
    from kolmogorov.cli.display import console, table
    from kolmogorov.models.metrics import verdict

    measure, out, columns = found.measure, console(), found.columns()
    scores: dict[str, list[Any]] = {measure: columns.pop(measure), "± over folds": columns.pop("spread")}
    settings = {"events" if name == "n_events" else name: [*map(str, cells)] for name, cells in columns.items()}
    if measure == "rmse":
        scores["in rating units"] = [score * span for score in scores[measure]]
    out.print(table(f"{folds}-fold cross-validation, best first", settings | scores))
    guesses = ", ".join(f"{name} {score:.4f}" for name, score in found.guesses.items())
    out.print(f"On the same folds, {measure}: {guesses}")
    beside = {name: {measure: score} for name, score in found.guesses.items()}
    sentence = verdict({measure: found.score}, beside, measure)
    if sentence:
        out.print(sentence)
