"""`kolmogorov rules`: logical rules between items, and how they hold on data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kolmogorov.cli.command import Verb, doing
from kolmogorov.cli.file_parameters import Input, ModelFile
from kolmogorov.cli.models import load_with_events
from kolmogorov.cli.options import (
    Finite,
    format_options,
    known_id,
    likes_level,
    read_input,
    reading_options,
    refuse_given,
    titles_option,
)

if TYPE_CHECKING:
    from kolmogorov.data import Observations
    from kolmogorov.fitted.base import Trained
    from kolmogorov.interpret import Rules

_KINDS = ("implication", "equivalence", "exclusion", "coverage")


@click.command("rules", cls=Verb)
@click.argument("model", type=ModelFile())
@click.option(
    "--data",
    type=Input(dir_okay=True),
    help="Ratings to count the rules on; those in the training data are left out.",
)
@click.option("--on", type=click.Choice(["held-out", "all"]), default="held-out", show_default=True)
@click.option("--item", "about", help="Only rules about this item: id or title.")
@click.option(
    "--kind", "kinds", type=click.Choice(_KINDS), multiple=True, help="May be repeated.  [default: implication]"
)
@click.option("--contrapositives", is_flag=True, help="Also 'no to i ⇒ no to j'.")
@click.option(
    "--likes",
    type=Finite(),
    help="Ratings of at least this mean yes [default: the upper half of the ratings]; with --all and several levels, "
    "the least threshold.",
)
@click.option("--top", default=20, show_default=True, type=click.IntRange(1), help="The strongest rules.")
@click.option(
    "--antecedents",
    default=1,
    show_default=True,
    type=click.IntRange(1, 3),
    help="Also rules 'A and B ⇒ C' with up to so many.",
)
@click.option("--basis", is_flag=True, help="Leave out rules that follow from the others.")
@click.option("--all", "everything", is_flag=True, help="All rules that the model says, supported by the data or not.")
@click.option("--min-ratings", default=1, show_default=True, type=click.IntRange(1), help="Of an item, in training.")
@click.option("--min-support", type=click.IntRange(0), help="Pairs seen in training.  [default: 5; with --all 1]")
@click.option("--min-lift", type=Finite(), help="In training.  [default: 1; with --all 0]")
@click.option("--max-p", type=Finite(0.0, 1.0), help="In training, adjusted.  [default: 0.05; with --all 1]")
@click.option(
    "--min-probability",
    type=Finite(0.0, 1.0),
    help="Of a model fitted with --bayes: share of draws in which a rule holds.  [default: 0; with --all 0.5]",
)
@format_options
@reading_options
@titles_option
def command(
    model: str,
    data: str | None,
    on: str,
    about: str | None,
    kinds: tuple[str, ...],
    contrapositives: bool,
    likes: float | None,
    top: int,
    antecedents: int,
    basis: bool,
    everything: bool,
    min_ratings: int,
    min_support: int | None,
    min_lift: float | None,
    max_p: float | None,
    min_probability: float | None,
    form: str,
    output: str | None,
    titles: str | None,
    **layout: Any,
) -> None:
    """Show the rules between items of MODEL that its data support.

    All pairs of items are tested on the training data. A rule is supported if it holds more often than chance, given
    how readily its users say yes: a test at 5%, corrected for all pairs (Benjamini and Hochberg). Rules that raise the
    base rate most come first. With --data they are counted again on ratings that the model was not trained on; the
    p-values are those of the training data.

    'support' is the number of users who rated both items and said yes to the first; 'held' is how many of them said
    yes to the second; 'base_rate' is the share of yes to the second item among all; 'expected' is the share by
    chance, for the same users. --all shows what the model says, supported or not. For models of fit --bayes,
    'probability' is then the share of draws in which a rule holds, and rules have thresholds: "A >= 4 ⇒ B >= 3".

    \b
    Examples:
      kolmogorov rules model.km --data ratings.csv --top 20
      kolmogorov rules model.km --data ratings.csv --item "Toy Story (1995)" --likes 4
      kolmogorov rules model.km --data ratings.csv --kind exclusion --format csv -o rules.csv
      kolmogorov rules model.km --antecedents 2 --basis
      kolmogorov rules bayes.km --data ratings.csv --min-probability 0.9
    """
    fitted_model = load_with_events(model, titles, ", which has no rules.")
    fitted, drawn = fitted_model.fitted_, fitted_model._has_draws
    options: dict[str, Any] = {"likes": None if likes is None else likes_level(fitted.scale, likes)}
    if not drawn:
        refuse_given(["min_probability"], "goes only with draws (fit --bayes)")
    options |= {"supported": not everything, "kinds": kinds or ("implication",), "contrapositives": contrapositives}
    options |= {"min_support": min_support, "min_lift": min_lift, "max_p": max_p, "min_probability": min_probability}
    options["max_antecedents"] = antecedents
    if everything:
        refuse_given(["antecedents"], "goes only with rules that the data support: leave out --all")
    if about is not None:
        options["item"] = known_id(fitted_model.items_, about, "item")
    doing("Finding rules")
    judges = None if data is None else _judged_on(fitted_model, data, layout, on)
    relations: Any = fitted_model.relations(min_ratings=min_ratings)
    trained = relations.rules(max_rules=None if basis else top, **options)
    trained = trained.basis()[:top] if basis else trained
    rules = trained if judges is None else trained.on(judges)
    if not len(rules) and form == "table" and output is None:
        click.echo(trained.none + ("" if everything else " --all shows what the model says."))
        return
    title = f"{_which(trained, len(rules), fitted, options['likes'])}, counted on {_place(judges, on)}"
    _show(rules, None if judges is None else trained, title, form, output)


def _which(rules: Rules, number: int, fitted: Trained, likes: float | None) -> str:
    least = fitted.scale.rating(fitted.likes if likes is None else likes)
    meaning = "" if fitted.training.is_binary else f", a like being {least:g} or more"
    counted = f"{number} rule{'' if number == 1 else 's'}"
    if not rules.supported:
        return f"{counted} that the model says{meaning}"
    return f"{counted} supported among {rules.looked_at}{meaning}"


def _place(judges: Observations | None, on: str) -> str:
    if judges is None:
        return "the training data"
    return f"{len(judges):,} {'held-out ' if on == 'held-out' else ''}ratings"


def _show(rules: Rules, trained: Rules | None, title: str, form: str, output: str | None) -> None:
    from kolmogorov.cli.display import emit

    if form != "table" or output:
        emit(rules.columns(), form, output, title)
        return
    columns = rules.readable()
    if trained is not None:
        # What supports a rule is what it was chosen by.
        chosen = trained.readable()
        columns |= {"in training": chosen["held"], "p adjusted": chosen["p adjusted"]}
    emit(columns, form, output, title)


def _judged_on(model: Any, name: str, layout: dict[str, Any], on: str) -> Observations:
    from kolmogorov.errors import DataError
    from kolmogorov.surface.held_out import held_out

    observations = read_input(name, layout, like=model.fitted_)
    n_ratings = len(observations)
    if on == "held-out" and len(held_out(model.fitted_, observations)) == 0:
        raise DataError(
            f"The model was trained on all {n_ratings:,} ratings of {name}. Rules look too good there. Give "
            "other ratings, fit with --test-size, or add --on all."
        )
    if model._is_only_yes:
        # Where only yes is recorded every rule would hold: a blank is a no, as in the training data.
        observations = observations.filled()
    return observations if on == "all" else held_out(model.fitted_, observations)
