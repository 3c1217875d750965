"""`kolmogorov rules`: logical rules between items, and how they hold on data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kolmogorov.cli.options import (
    Finite,
    format_options,
    known_id,
    likes_level,
    read_input,
    reading_options,
    refuse_given,
    scale_of,
)
from kolmogorov.cli.paths import Input
from kolmogorov.cli.verb import Verb

if TYPE_CHECKING:
    from kolmogorov.data import Observations
    from kolmogorov.fitting.trained import Trained
    from kolmogorov.interpret.evidence import Evidence
    from kolmogorov.interpret.posterior_relations import PosteriorRelations

_KINDS = ("implication", "equivalence", "exclusion", "coverage")
#: Rules looked at for each one shown, as some are not met in the data.
_RESERVE = 50


@click.command("rules", cls=Verb)
@click.argument("model", type=Input())
@click.option(
    "--data",
    type=Input(dir_okay=True),
    help="Ratings to judge the rules on; those that the model was trained on are left out.",
)
@click.option("--on", type=click.Choice(["held-out", "all"]), default="held-out", show_default=True)
@click.option("--item", "about", help="Only rules about this item: id or title.")
@click.option(
    "--kind", "kinds", type=click.Choice(_KINDS), multiple=True, help="May be repeated.  [default: implication]"
)
@click.option("--contrapositives", is_flag=True, help="Also 'no to i ⇒ no to j'.")
@click.option("--likes", type=Finite(), help="Ratings of at least this mean yes.  [default: 0.6 of the scale]")
@click.option("--top", default=20, show_default=True, type=click.IntRange(1), help="The strongest rules.")
@click.option("--min-ratings", default=1, show_default=True, type=click.IntRange(1), help="Of an item, in training.")
@click.option("--min-support", default=1, show_default=True, type=click.IntRange(0), help="Pairs seen in training.")
@click.option("--min-lift", default=0.0, show_default=True, type=Finite(), help="In training.")
@click.option(
    "--min-probability",
    type=Finite(0.0, 1.0),
    help="Of a model fitted with --bayes: share of draws in which a rule holds.  [default: 0.8]",
)
@format_options
@reading_options
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
    **layout: Any,
) -> None:
    """Show the strongest logical rules between items of MODEL.

    Rules are chosen by a cautious lift on the data that the model was trained on, and counted anew on the ratings of
    --data that it was not trained on: on training data any rule looks good. Rules not met there are left out.
    'support' is the number of users seen with both items who said yes to the first, 'held' those who said yes to the
    second as well, 'base_rate' the share of yes to the second among all; 'p_adjusted' is Fisher's test, corrected
    (Bonferroni) for the rules shown. Of a model fitted with --bayes the most probable rules are shown; 'probability' is
    the share of draws in which a rule holds.

    \b
    Examples:
      kolmogorov rules model.km --data ratings.csv --top 20
      kolmogorov rules model.km --data ratings.csv --item "Toy Story (1995)" --likes 4
      kolmogorov rules model.km --data ratings.csv --kind exclusion --format csv -o rules.csv
      kolmogorov rules bayes.km --data ratings.csv --min-probability 0.9
    """
    from dataclasses import replace

    import numpy as np

    from kolmogorov.cli.display import emit
    from kolmogorov.errors import ParameterError
    from kolmogorov.model.loading import load

    fitted_model = load(model)
    if not hasattr(fitted_model, "relations"):
        raise ParameterError(f"{model} holds a {type(fitted_model).__name__}; rules are read off a KolmogorovModel.")
    fitted = fitted_model.fitted_
    level = likes_level(fitted.scale, likes)
    if not hasattr(fitted_model, "events"):
        refuse_given(["kinds", "contrapositives", "min_support", "min_lift"], "do not go with draws")
        judges = None if data is None else _judged_on(fitted, data, layout, on)
        item = None if about is None else known_id(fitted_model.items_, about, "item")
        probable = 0.8 if min_probability is None else min_probability
        _probable_rules(
            fitted_model.relations(min_ratings=min_ratings), judges, level, probable, item, top, form, output
        )
        return
    refuse_given(["min_probability"], "goes only with draws (fit --bayes)")
    relations = fitted_model.relations(min_ratings=min_ratings)
    chosen = relations.evaluate(
        None,
        level,
        kinds=kinds or ("implication",),
        contrapositives=contrapositives,
        item=None if about is None else known_id(fitted_model.items_, about, "item"),
        min_support=min_support,
        min_lift=min_lift,
        max_rules=top if data is None else _RESERVE * top,
    )
    place, trained = "the training data", chosen
    if data is not None:
        judges = _judged_on(fitted, data, layout, on)
        counted = relations.evaluate(judges, level, rules=chosen)
        # A rule whose "if" nobody in the data meets cannot be judged; the next strongest takes its place.
        met = np.flatnonzero(counted.support > 0)[:top]
        chosen, trained = replace(counted.take(met), n_judged=len(met)), chosen.take(met)
        place = f"{len(judges):,} {'held-out ' if on == 'held-out' else ''}ratings"
    columns = chosen.columns() if form != "table" or output else _for_people(chosen, trained)
    emit(columns, form, output, f"{len(chosen)} rules, counted on {place}")


def _for_people(rules: Evidence, trained: Evidence) -> dict[str, list[Any]]:
    """Return few columns, so that the rules fit on a screen."""
    left, right = rules.names()
    columns: dict[str, list[Any]] = {
        "if": left,
        "then": right,
        "held": [f"{held} of {seen}" for held, seen in zip(rules.held, rules.support, strict=True)],
        "base rate": [f"{rate:.0%}" if rate == rate else "–" for rate in rules.base_rate],
        "lift": [f"{lift:.2f}" if lift == lift else "–" for lift in rules.lift],
        "p adjusted": [f"{p:.2g}" for p in rules.p_adjusted],
    }
    if trained is not rules:
        columns["in training"] = [f"{held} of {seen}" for held, seen in zip(trained.held, trained.support, strict=True)]
    return columns


def _probable_rules(
    relations: PosteriorRelations,
    judges: Observations | None,
    level: float,
    min_probability: float,
    item: Any,
    top: int,
    form: str,
    output: str | None,
) -> None:
    """Show the most probable rules of draws that the data can judge."""
    import numpy as np

    from kolmogorov.cli.display import emit

    evidence, probability = relations.evaluate(judges, level, min_probability=min_probability)
    wanted = evidence.support > 0
    if item is not None:
        row = relations.items.encode([item], "item")[0]
        wanted &= (evidence.antecedent == row) | (evidence.consequent == row)
    chosen = np.flatnonzero(wanted)[:top]
    rules = evidence.take(chosen)
    columns = {"probability": probability[chosen].tolist()}
    columns |= rules.columns() if form != "table" or output else _for_people(rules, rules)
    place = "the training data" if judges is None else f"{len(judges):,} ratings"
    emit(columns, form, output, f"{len(rules)} of {int(wanted.sum()):,} rules, most probable first, counted on {place}")


def _judged_on(fitted: Trained, name: str, layout: dict[str, Any], on: str) -> Observations:
    from kolmogorov.errors import DataError
    from kolmogorov.surface.held_out import held_out

    observations = read_input(name, layout, from_model=True, **scale_of(fitted.scale))
    if on == "all":
        return observations
    fresh = held_out(fitted, observations)
    if len(fresh) == 0:
        raise DataError(
            f"The model was trained on all {len(observations):,} ratings of {name}, and on training data any rule "
            "looks good. Give held-out ratings, fit with --test-size, or say --on all."
        )
    return fresh
