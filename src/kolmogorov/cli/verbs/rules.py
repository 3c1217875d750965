"""`kolmogorov rules`: logical rules between items, and how they hold on data."""

from __future__ import annotations

from typing import Any

import click

from kolmogorov.cli.options import (
    Count,
    data_option,
    format_options,
    known_id,
    layout_options,
    likes_level,
    likes_option,
    loaded,
    read_input,
)
from kolmogorov.cli.shell import ModelFile, Verb, doing

_KINDS = ("implication", "equivalence", "exclusion", "coverage")


@click.command("rules", cls=Verb)
@click.argument("model", type=ModelFile())
@data_option
@click.option("--about", help="Only rules about this item: id or title.")
@click.option("--kind", "kinds", type=click.Choice(_KINDS), multiple=True, help="Repeatable.  [default: implication]")
@likes_option
@click.option("-n", "--n", default=20, show_default=True, type=Count(), help="The strongest rules.")
@click.option(
    "--antecedents",
    "max_antecedents",
    default=1,
    show_default=True,
    type=click.IntRange(1, 3),
    help="Also rules 'A and B ⇒ C' with up to so many.",
)
@click.option("--basis", is_flag=True, help="Leave out rules that follow from the others.")
@click.option("--all", "everything", is_flag=True, help="All that the model says, supported by the data or not.")
@format_options
@layout_options
def command(model: str, data: str | None, n: int, basis: bool, form: str, output: str | None, **options: Any) -> None:
    """Show the rules between items of MODEL that its data support.

    All pairs of items are tested on the training data. A rule is supported if it holds more often than chance, given
    how readily its users say yes: a test at 5%, corrected for all pairs (Benjamini and Hochberg), whatever is shown of
    them. Rules that surely raise the base rate most come first. With --data they are counted again on ratings that the
    model was not trained on; how they fared in training stands beside them. csv and json have all columns.

    \b
    Examples:
      kolmogorov rules model.km --n 50
      kolmogorov rules model.km --data ratings.csv --about "Toy Story (1995)" --likes 4
      kolmogorov rules model.km --kind exclusion --format csv -o rules.csv
      kolmogorov rules model.km --antecedents 2 --basis
    """
    from kolmogorov.cli.display import chosen_format, console, emit
    from kolmogorov.errors import DataError
    from kolmogorov.models.metrics import held_out

    fitted_model = loaded(model, options, lacking="rules")
    fitted = fitted_model.fitted_
    about, everything = options["about"], options["everything"]
    found = fitted_model.relations(likes=likes_level(fitted.scale, options["likes"]))
    asked: dict[str, Any] = {
        "item": None if about is None else known_id(fitted_model.items_, about, "item"),
        "kinds": options["kinds"] or ("implication",),
        "max_antecedents": options["max_antecedents"],
        "supported": not everything,
    }
    doing("Finding rules")
    judges = None if data is None else held_out(fitted, read_input(data, options, like=fitted))
    if judges is not None and not len(judges):
        raise DataError(
            f"The model was trained on all ratings of {data}. Rules look too good there. Give other ratings, or fit "
            "with --test-size 0.2."
        )
    trained = found.rules(max_rules=None if basis else n, **asked)
    trained = trained.basis()[:n] if basis else trained
    rules = trained if judges is None else trained.on(judges)
    if chosen_format(form, output) != "table":
        columns = rules.columns()
        if judges is not None:
            # What supports a rule is what it was chosen by.
            chosen = trained.columns()
            columns |= {f"{name}_in_training": chosen[name] for name in ("support", "held")}
            columns |= {name: chosen[name] for name in ("p_value", "p_adjusted")}
        emit(columns, form, output)
        return
    out = console()
    if not len(trained):
        out.print(trained.none + ("" if everything else " --all shows what the model says."))
        return
    which = "that the model says" if everything else f"that the data support, among {trained.looked_at}"
    where = trained.terms.source if judges is None else f"{len(judges):,} ratings held out"
    out.print(f"{len(rules):,} of {trained.n_found:,} rules {which}; counted on {where}:")
    for rule, before in zip(rules, trained, strict=True):
        out.print(f"  {rule}" + ("" if judges is None else f"; in training {before.held:,} of {before.support:,}"))
