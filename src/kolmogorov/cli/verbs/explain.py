"""`kolmogorov explain`: why a prediction is what it is."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from kolmogorov.cli.options import format_options, known_id, loaded, newcomer_options, titles_option, unknown_option
from kolmogorov.cli.shell import ModelFile, Verb, doing


@click.command("explain", cls=Verb)
@click.argument("model", type=ModelFile())
@click.argument("user")
@click.argument("item")
@newcomer_options
@unknown_option("error")
@titles_option
@format_options
def command(model: str, user: str, item: str, unknown: Any, form: str, output: str | None, **options: Any) -> None:
    """Explain the prediction for USER and ITEM, an id or a title, by events and rules.

    Shows what everybody would get, what each event changes, and which rules apply.

    \b
    Examples:
      kolmogorov explain model.km dolphin milk
      kolmogorov explain model.km dolphin milk --format json
      kolmogorov explain model.km 196 2001 --items new_films.csv
    """
    from kolmogorov.cli.display import chosen_format, console, emit, emit_json

    fitted_model = loaded(model, options)
    doing("Explaining the prediction")
    user_id = known_id(fitted_model.users_, user, "user", unknown)
    item_id = known_id(fitted_model.items_, item, "item", unknown)
    why = fitted_model.explain(user_id, item_id, unknown=unknown)
    columns, chosen = why.columns(), chosen_format(form, output)
    if chosen == "table":
        console().print(str(why))
    elif chosen == "csv":
        emit(columns, form, output)
    else:
        found = {"user": why.user, "item": why.item, "sentence": why.sentence, **why.said}
        found["parts"] = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        found["rules"] = [asdict(reason) for reason in why.reasons]
        if getattr(why, "attributes", None) is not None:
            found["attributes"] = asdict(why.attributes)
        emit_json(found, output)
