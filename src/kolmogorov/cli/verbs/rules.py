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


@click.command("rules", cls=Verb)
@click.argument("model", type=ModelFile())
@data_option
@click.option("--about", help="Only rules about this item: id or title.")
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
@format_options
@layout_options
def command(model: str, data: str | None, n: int, basis: bool, form: str, output: str | None, **options: Any) -> None:
    """Show the rules between items that MODEL states and its training data confirm.

    The data confirm a rule if it holds more often than chance, given how readily its users say yes: a test at 5%,
    corrected for all pairs of items. Rules that surely raise the base rate most come first. With --data they are
    counted again on ratings that the model was not trained on, and what held there is said where there are 20 cases.
    csv and json have all columns.

    \b
    Examples:
      kolmogorov rules model.km --n 50
      kolmogorov rules model.km --data ratings.csv --about "Toy Story (1995)" --likes 4
      kolmogorov rules model.km --antecedents 2 --basis --format csv -o rules.csv
    """
    from kolmogorov.cli.display import chosen_format, console, emit
    from kolmogorov.errors import DataError
    from kolmogorov.models.metrics import held_out

    fitted_model = loaded(model, options, lacking="rules")
    fitted = fitted_model.fitted_
    about = options["about"]
    likes = likes_level(fitted.scale, options["likes"])
    doing("Finding rules")
    judges = None if data is None else held_out(fitted, read_input(data, options, like=fitted))
    if judges is not None and not len(judges):
        raise DataError(
            f"The model was trained on all ratings of {data}. Rules look too good there. Give other ratings, or fit "
            "with --test-size 0.2."
        )
    found = fitted_model.rules(likes=likes, max_antecedents=options["max_antecedents"])
    if about is not None:
        found = found.about(known_id(fitted_model.items_, about, "item"))
    chosen = (found.basis() if basis else found)[:n]
    test = None if judges is None else chosen.on(judges)
    if chosen_format(form, output) != "table":
        columns = chosen.columns()
        if test is not None:
            columns |= {"support_held_out": test.support, "held_held_out": test.held}
        emit(columns, form, output)
        return
    out = console()
    out.print(f"{len(chosen):,} of {found.title}:" if len(chosen) else found.none)
    for sentence in chosen.sentences(test):
        out.print(f"  {sentence}")
