"""`kolmogorov explain`: why a probability is what it is."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from kolmogorov.cli.command import ModelFile, Verb, chosen_format, doing
from kolmogorov.cli.models import load_with_events
from kolmogorov.cli.options import (
    format_options,
    known_id,
    newcomer_options,
    titles_option,
    unknown_option,
    with_newcomers,
)

if TYPE_CHECKING:
    from kolmogorov.interpret.explanation import Explanation
    from kolmogorov.models.ids import Unknown


@click.command("explain", cls=Verb)
@click.argument("model", type=ModelFile())
@click.argument("user")
@click.argument("item")
@click.option(
    "--top", default=5, show_default=True, type=click.IntRange(1), help="Events and rules shown in the table."
)
@newcomer_options
@unknown_option("error")
@titles_option
@format_options
def command(
    model: str,
    user: str,
    item: str,
    top: int,
    unknown: Unknown,
    titles: str | None,
    form: str,
    output: str | None,
    **new: Any,
) -> None:
    """Explain the prediction for USER and ITEM, an id or a title, by events and rules.

    Shows what everybody would get, what each event changes, and which rules apply.

    \b
    Examples:
      kolmogorov explain model.km dolphin milk
      kolmogorov explain model.km dolphin milk --format json
      kolmogorov explain model.km 196 2001 --items new_films.csv
    """
    from kolmogorov.cli.display import console, emit, emit_object

    fitted_model = load_with_events(model, titles, ", which has no events to explain by.", lists=True)
    fitted_model = with_newcomers(fitted_model, model, new)
    doing("Explaining the prediction")
    user_id = known_id(fitted_model.users_, user, "user", unknown)
    item_id = known_id(fitted_model.items_, item, "item", unknown)
    why = fitted_model.explain(user_id, item_id, unknown=unknown)
    chosen = chosen_format(form, output)
    if chosen == "json":
        emit_object(_whole(why), output)
        return
    if chosen == "csv":
        emit(why.columns(), form, output)
        return
    console().print(why.sentence)
    names, amounts = zip(*why.steps, strict=True)
    digits = 3 if why.binary else 2
    said = [f"{amounts[0]: .{digits}f}", *(f"{amount:+.{digits}f}" for amount in amounts[1:])]
    if len(names) > top + 1:
        rest = sum(amounts[top + 1 :])
        names, said = (*names[: top + 1], f"{len(names) - top - 1} more"), [*said[: top + 1], f"{rest:+.{digits}f}"]
    emit({"from everybody to it": names, "amount": said}, form, output)
    if getattr(why, "attributes", None) is not None:
        console().print(why.attributes_sentence)
    reasons = why.reasons[:top]
    if reasons:
        rules = {
            "known": [reason.antecedent for reason in reasons],
            "so": [reason.consequent for reason in reasons],
            "held in training": [f"{reason.held} of {reason.support}" for reason in reasons],
            "base rate": [f"{reason.base_rate:.0%}" for reason in reasons],
        }
        emit(rules, form, output, "Rules that lead to it")


def _whole(why: Explanation) -> dict[str, Any]:
    """Return everything that an explanation says."""
    columns, attributes = why.columns(), getattr(why, "attributes", None)
    return {
        "user": why.user,
        "item": why.item,
        "sentence": why.sentence,
        **why.said,
        "parts": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        "rules": [asdict(reason) for reason in why.reasons],
        **({} if attributes is None else {"attributes": asdict(attributes)}),
    }
