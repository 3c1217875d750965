"""`kolmogorov explain`: why a probability is what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kolmogorov.cli.command import Verb
from kolmogorov.cli.file_parameters import Input
from kolmogorov.cli.models import load_with_events
from kolmogorov.cli.options import format_options, titles_option, unknown_option

if TYPE_CHECKING:
    from kolmogorov.surface.ids import Unknown

_REASONS = 5


@click.command("explain", cls=Verb)
@click.argument("model", type=Input())
@click.option("--user", required=True)
@click.option("--item", required=True, help="Id or title.")
@unknown_option("error")
@titles_option
@format_options
def command(
    model: str, user: str, item: str, unknown: Unknown, titles: str | None, form: str, output: str | None
) -> None:
    """Explain one prediction: what everybody would get, what each event changes, and which rules apply.

    \b
    Example:
      kolmogorov explain model.km --user dolphin --item milk
    """
    from kolmogorov.cli.display import console, emit
    from kolmogorov.cli.options import known_id

    fitted_model = load_with_events(model, titles, ", which has no events to explain by.")
    user_id = known_id(fitted_model.users_, user, "user", unknown)
    item_id = known_id(fitted_model.items_, item, "item", unknown)
    why = fitted_model.explain(user_id, item_id, unknown=unknown)
    if form != "table" or output is not None:
        emit(why.columns(), form, output)
        return
    console().print(why.sentence)
    names, amounts = zip(*why.steps, strict=True)
    digits = 3 if why.binary else 2
    said = [f"{amounts[0]: .{digits}f}", *(f"{amount:+.{digits}f}" for amount in amounts[1:])]
    emit({"from everybody to it": names, "amount": said}, form, output)
    reasons = why.reasons[:_REASONS]
    if reasons:
        rules = {
            "known": [reason.antecedent for reason in reasons],
            "so": [reason.consequent for reason in reasons],
            "held in training": [f"{reason.held} of {reason.support}" for reason in reasons],
            "base rate": [f"{reason.base_rate:.0%}" for reason in reasons],
        }
        emit(rules, form, output, "Rules that support it")
