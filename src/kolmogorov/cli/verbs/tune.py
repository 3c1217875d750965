"""`kolmogorov tune`: events and regularisation by cross-validation."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import click

from kolmogorov.cli.command import Input, Verb, doing
from kolmogorov.cli.options import (
    COUNT,
    EVENTS,
    JOBS,
    PSI,
    Finite,
    output_option,
    read_input,
    reading_options,
    refuse_given,
    scale_options,
    tell_source,
    titles_option,
)

_SHOWN = {"n_events": "events"}


def _list_of(kind: type[float], least: float, most: float, words: str) -> Callable[..., list[Any] | None]:
    """Make the callback of an option that takes numbers separated by commas."""

    def read(context: click.Context, parameter: click.Parameter, text: str | None) -> list[Any] | None:
        if text is None:
            return None
        try:
            numbers = [kind(part) for part in text.split(",")]
        except ValueError:
            numbers = []
        if not numbers or not all(least <= number <= most for number in numbers):
            raise click.BadParameter(f"expected {words} separated by commas, got {text!r}.")
        return numbers

    return read


_numbers = _list_of(float, 0.0, sys.float_info.max, "numbers >= 0")
_counts = _list_of(int, 1, EVENTS.max or 1, "whole numbers >= 1")


def _worded(tried: Any) -> str:
    """Say the value of a parameter: a number or a word."""
    return tried if isinstance(tried, str) else f"{tried:g}"


@click.command("tune", cls=Verb)
@click.argument("data", type=Input(dir_okay=True))
@output_option("Model file for the best setting, refitted.")
@click.option("--model", type=click.Choice(["point", "draws"]), default="point", show_default=True)
@click.option("--events", callback=_counts, help="Numbers of events to try.  [default: by the size of the table]")
@click.option(
    "--psi",
    type=PSI,
    multiple=True,
    help="What an item may be in an event; may be repeated to try several.  [default: the model's own]",
)
@click.option(
    "--user-reg",
    callback=_numbers,
    help="Learn from ratings, and try these ridges on theta.  [default: learn from draws; with --item-reg "
    "0.3,1,3,10,30,100]",
)
@click.option("--item-reg", callback=_numbers, help="Learn from ratings, and try these ridges on psi.  [default: 0]")
@click.option("--folds", default=3, show_default=True, type=COUNT)
@click.option(
    "--max-seconds", type=Finite(), help="After this time no other setting is tried, and the best so far is taken."
)
@click.option("--max-iter", default=50, show_default=True, type=COUNT, help="Limit on sweeps of every fit.")
@click.option("--seed", default=0, show_default=True)
@click.option("--jobs", default=-1, show_default=True, type=JOBS, help="Threads; -1 for all processors.")
@scale_options
@reading_options
@titles_option
def command(
    data: str,
    output: str | None,
    model: str,
    events: list[int] | None,
    psi: tuple[str, ...],
    user_reg: list[float] | None,
    item_reg: list[float] | None,
    implicit: bool,
    folds: int,
    max_seconds: float | None,
    max_iter: int,
    seed: int,
    jobs: int,
    **options: Any,
) -> None:
    """Find good settings by cross-validation, and refit the best.

    Settings are compared on held-out parts of DATA; the best is fitted again to all of it.

    Ctrl-C stops the search and takes the best so far. Below the table are the errors of simple guesses on the same
    parts.

    \b
    Examples:
      kolmogorov tune ratings.csv -o model.km
      kolmogorov tune ratings.csv --psi binary --psi soft --events 4,8
      kolmogorov tune ratings.csv --events 8,16,24 --user-reg 10,30,100 --folds 5
      kolmogorov tune ratings.csv --model draws --events 8,16 --max-seconds 300 -o model.km
    """
    from kolmogorov._support.markup import shown
    from kolmogorov._support.validation import NONE, POSITIVE, check_parameters, integer
    from kolmogorov.cli.display import console
    from kolmogorov.models.tuning import tune

    limits = {"k": integer(2), "max_seconds": POSITIVE | NONE}
    check_parameters("tune", {"k": folds, "max_seconds": max_seconds}, limits)

    if model == "draws":
        refuse_given(("user_reg", "item_reg", "max_iter", "implicit"), "does not go with --model draws")
    say = console(stderr=True)
    observations = read_input(data, options | {"implicit": implicit})
    tell_source(say, observations)
    doing(None if say.is_terminal else "Comparing settings")
    grid: dict[str, Any] = {"n_events": events, "psi": psi or None, "user_reg": user_reg, "item_reg": item_reg}
    with _bar(say) as (advance, trials):
        found = tune(
            observations,
            folds=folds,
            model=_model(model, max_iter, jobs, implicit, "ratings" if user_reg or item_reg else "draws"),
            random_state=seed,
            refit=output is not None,
            max_seconds=max_seconds,
            callback=advance,
            **{name: tried for name, tried in grid.items() if tried is not None},
        )
    if max_seconds is not None and trials and trials[-1][0] < trials[-1][1]:
        say.print(f"Stopped at {max_seconds:g} s: {trials[-1][0]} of {trials[-1][1]} settings.")
    _show(found, folds, observations.scale.span)
    if output is not None:
        found.model.save(output)
        say.print(f"Best setting refitted and written to {shown(output)}")


def _model(name: str, max_iter: int, jobs: int, implicit: bool, learn_from: Literal["draws", "ratings"]) -> Any:
    from kolmogorov.models.bayesian import BayesianKolmogorovModel
    from kolmogorov.models.kolmogorov import KolmogorovModel

    if name == "draws":
        return BayesianKolmogorovModel(n_jobs=jobs)
    unobserved: Any = "auto" if implicit else 0.0
    return KolmogorovModel(learn_from=learn_from, max_iter=max_iter, n_jobs=jobs, unobserved=unobserved)


@contextmanager
def _bar(say: Any) -> Iterator[Any]:
    """Show how many trials are done and the best score; yield what `tune` is to call, and how many were done."""
    from kolmogorov.cli.display import counting_bar

    trials: list[Any] = []
    counts: list[tuple[int, int]] = []
    with counting_bar(say, "trials") as show:

        def advance(trial: Any, number: int, total: int) -> None:
            trials.append(trial)
            counts.append((number, total))
            best = min(trials, key=lambda each: each.loss)
            show(number, total, f"best {best.measure} {best.score:.4f}")

        yield advance, counts


def _show(found: Any, folds: int, span: float) -> None:
    """Print the trials and, below them, what simple guesses reach."""
    from kolmogorov.cli.display import console, table
    from kolmogorov.models.metrics import verdict

    ranked, measure = found.ranked, found.best.measure
    columns: dict[str, list[Any]] = {
        _SHOWN.get(name, name): [_worded(trial.parameters[name]) for trial in ranked] for name in found.best.parameters
    }
    columns |= {measure: [trial.score for trial in ranked], "± over folds": [trial.spread for trial in ranked]}
    if measure == "rmse":
        columns["in rating units"] = [trial.score * span for trial in ranked]
    out = console()
    out.print(table(f"{folds}-fold cross-validation, best first", columns))
    guesses = ", ".join(f"{name} {score:.4f}" for name, score in found.guesses.items())
    out.print(f"On the same folds, {measure}: {guesses}")
    beside = {name: {measure: score} for name, score in found.guesses.items()}
    sentence = verdict({measure: found.best.score}, beside, measure)
    if sentence:
        out.print(sentence)
