"""`kolmogorov rules`: logical rules between items, and how they hold on data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kolmogorov.cli.command import Input, ModelFile, Verb, doing
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
    from kolmogorov.descent.fitted import Trained
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
@click.option("--about", help="Only rules about this item: id or title.")
@click.option(
    "--kind", "kinds", type=click.Choice(_KINDS), multiple=True, help="May be repeated.  [default: implication]"
)
@click.option("--contrapositives", is_flag=True, help="Also 'no to i ⇒ no to j'.")
@click.option(
    "--likes",
    type=Finite(),
    help="Ratings of at least this mean yes.  [default: the upper half of the ratings]",
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
@click.option(
    "--min-confidence", type=Finite(0.0, 1.0), help="Held / support in training.  [default: 0.5; with --all 0]"
)
@click.option("--min-lift", type=Finite(), help="In training.  [default: above 1; with --all 0]")
@click.option("--max-p", type=Finite(0.0, 1.0), help="In training, adjusted.  [default: 0.05; with --all 1]")
@click.option(
    "--min-probability",
    type=Finite(0.0, 1.0),
    help="Of a model fitted with --bayes: share of draws in which a rule holds.  [default: 0.1; with --all 0.5]",
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
    min_confidence: float | None,
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
    how readily its users say yes: a test at 5%, corrected for all pairs (Benjamini and Hochberg), whatever is shown of
    them. Supported rules with at least 5 cases, a confidence of at least 50% and a lift above 1 are shown. Rules that
    surely raise the base rate most come first: by the lower 95% bound of the confidence, less the base rate.

    With --data the rules are counted again on ratings that the model was not trained on. Their p-values and whether
    the model states them are those of the training data; csv and json have 'support_in_training' and
    'held_in_training' too.

    'support' is the number of users who rated both items and said yes to the first; 'held' is how many of them said
    yes to the second; 'base_rate' is the share of yes to the second item among all; 'expected' is the share by
    chance, for the same users. --all shows what the model says, supported or not. For models of fit --bayes,
    'probability' is the share of draws in which a rule holds. Of ratings, rules say what a like is: "A >= 4 ⇒ B >= 4".

    \b
    Examples:
      kolmogorov rules model.km --data ratings.csv --top 20
      kolmogorov rules model.km --data ratings.csv --about "Toy Story (1995)" --likes 4
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
    options |= {"min_support": min_support, "min_confidence": min_confidence, "min_lift": min_lift}
    options |= {"max_p": max_p, "min_probability": min_probability}
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
    if not len(trained) and form == "table" and output is None:
        click.echo(trained.none + ("" if everything else " --all shows what the model says."))
        return
    rules = trained if judges is None else trained.on(judges)
    like = "" if fitted.training.is_binary else f", a like being {_like(fitted, options['likes']):g} or more"
    title = f"{_which(trained, max_p)}{like}, counted on {_place(rules, judges, on)}"
    _show(rules, None if judges is None else trained, title, form, output)


def _like(fitted: Trained, likes: float | None) -> float:
    return float(fitted.scale.rating(fitted.likes if likes is None else likes))


def _which(rules: Rules, max_p: float | None) -> str:
    number, found = len(rules), f"{rules.n_found:,}"
    if not rules.supported:
        return f"{number:,} of {found} rule{'' if rules.n_found == 1 else 's'} that the model says"
    if max_p is not None and max_p > 0.05:
        limit = f"rule{'' if number == 1 else 's'} with an adjusted p of at most {max_p:g}"
        return (
            f"{number:,} {limit} ({found} {'is' if rules.n_found == 1 else 'are'} supported), among {rules.looked_at}"
        )
    of = f"{number:,} of {found}" if number < rules.n_found else found
    return f"{of} supported rule{'' if rules.n_found == 1 else 's'}, among {rules.looked_at}"


def _place(rules: Rules, judges: Observations | None, on: str) -> str:
    if judges is None:
        return rules.terms.source
    blank = ", where a blank is a no" if rules.terms.only_yes is not None else ""
    return f"{len(judges):,} {'held-out ' if on == 'held-out' else ''}ratings{blank}"


def _show(rules: Rules, trained: Rules | None, title: str, form: str, output: str | None) -> None:
    from kolmogorov.cli.display import emit

    every = form != "table" or output is not None
    columns = rules.columns() if every else rules.readable()
    if trained is not None:
        # What supports a rule is what it was chosen by.
        chosen = trained.columns() if every else trained.readable()
        more = {"support": "support_in_training", "held": "held_in_training"} if every else {"held": "in training"}
        columns |= {name: chosen[own] for own, name in more.items()}
        columns |= {name: chosen[name] for name in ("p_value", "p_adjusted", "p adjusted") if name in chosen}
    emit(columns, form, output, title)


def _judged_on(model: Any, name: str, layout: dict[str, Any], on: str) -> Observations:
    from kolmogorov.errors import DataError
    from kolmogorov.models.metrics import held_out

    observations = read_input(name, layout, like=model.fitted_)
    if on == "all":
        return observations
    fresh = held_out(model.fitted_, observations)
    if len(fresh) == 0:
        raise DataError(
            f"The model was trained on all {len(observations):,} ratings of {name}. Rules look too good there. Give "
            "other ratings, fit with --test-size, or add --on all."
        )
    return fresh
