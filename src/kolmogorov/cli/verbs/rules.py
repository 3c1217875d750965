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
    from kolmogorov.interpret import Relations, Rules

_KINDS = ("implication", "equivalence", "exclusion", "coverage")
#: Share of draws in which a rule has to hold: more often than not.
_USUAL = 0.5
#: Rules looked at for each one shown, as some are not met in the data. By judgement.
_RESERVE = 50


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
    help="Ratings of at least this mean yes [default: 0.6 of the scale]; with several levels, the least threshold.",
)
@click.option("--top", default=20, show_default=True, type=click.IntRange(1), help="The strongest rules.")
@click.option("--min-ratings", default=1, show_default=True, type=click.IntRange(1), help="Of an item, in training.")
@click.option("--min-support", default=1, show_default=True, type=click.IntRange(0), help="Pairs seen in training.")
@click.option("--min-lift", default=0.0, show_default=True, type=Finite(), help="In training.")
@click.option(
    "--min-probability",
    type=Finite(0.0, 1.0),
    help="Of a model fitted with --bayes: share of draws in which a rule holds.  [default: 0.5]",
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
    min_ratings: int,
    min_support: int,
    min_lift: float,
    min_probability: float | None,
    form: str,
    output: str | None,
    titles: str | None,
    **layout: Any,
) -> None:
    """Show the strongest logical rules between items of MODEL.

    Rules are chosen on the training data, and counted again on the ratings of --data that the model was not trained on,
    because any rule looks good on training data. A rule without a case there is left out.

    'support' is the number of users who rated both items and said yes to the first; 'held' is how many of them said
    yes to the second; 'base_rate' is the share of yes to the second item among all; 'p_adjusted' is Fisher's test,
    corrected (Bonferroni) for the rules shown. For models of fit --bayes, 'probability' is the share of draws in which
    a rule holds; the most probable come first. Their rules, and those of fit --levels, have thresholds:
    "A >= 4 ⇒ B >= 3".

    \b
    Examples:
      kolmogorov rules model.km --data ratings.csv --top 20
      kolmogorov rules model.km --data ratings.csv --item "Toy Story (1995)" --likes 4
      kolmogorov rules model.km --data ratings.csv --kind exclusion --format csv -o rules.csv
      kolmogorov rules bayes.km --data ratings.csv --min-probability 0.9
    """
    fitted_model = load_with_events(model, titles, ", which has no rules.")
    fitted, drawn = fitted_model.fitted_, fitted_model._has_draws
    options: dict[str, Any] = {"likes": None if likes is None else likes_level(fitted.scale, likes)}
    if drawn:
        refuse_given(["kinds", "contrapositives", "min_support", "min_lift"], "do not go with draws")
        options["min_probability"] = _USUAL if min_probability is None else min_probability
    else:
        refuse_given(["min_probability"], "goes only with draws (fit --bayes)")
        options |= {"contrapositives": contrapositives, "min_support": min_support, "min_lift": min_lift}
        options["kinds"] = kinds or ("implication",)
    if about is not None:
        options["item"] = known_id(fitted_model.items_, about, "item")
    doing("Finding rules")
    judges = None if data is None else _judged_on(fitted, data, layout, on)
    relations: Any = fitted_model.relations(min_ratings=min_ratings)
    trained = None
    if drawn:
        rules = relations.rules(judges, max_rules=top, **options)
    else:
        rules, trained = _strongest(relations, judges, top, options)
    title = f"{len(rules)} rules, {'most probable first, ' if drawn else ''}counted on {_place(judges, on)}"
    _show(rules, trained, title, form, output)


def _strongest(
    relations: Relations, judges: Observations | None, top: int, options: dict[str, Any]
) -> tuple[Rules, Rules | None]:
    """Return the rules that are strongest in training, counted on the judges, and as they were in training."""
    if judges is None:
        return relations.rules(max_rules=top, **options), None
    chosen = relations.rules(max_rules=_RESERVE * top, **options)
    # A rule whose "if" nobody in the data meets cannot be judged; the next strongest takes its place.
    chosen = chosen[chosen.on(judges).support > 0][:top]
    return chosen.on(judges), chosen


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
        columns["in training"] = trained.readable()["held"]
    emit(columns, form, output, title)


def _judged_on(fitted: Trained, name: str, layout: dict[str, Any], on: str) -> Observations:
    from kolmogorov.errors import DataError
    from kolmogorov.surface.held_out import held_out

    observations = read_input(name, layout, like=fitted)
    if on == "all":
        return observations
    fresh = held_out(fitted, observations)
    if len(fresh) == 0:
        raise DataError(
            f"The model was trained on all {len(observations):,} ratings of {name}. Rules look too good there. Give "
            "other ratings, fit with --test-size, or add --on all."
        )
    return fresh
