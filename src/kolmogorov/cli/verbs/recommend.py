"""`kolmogorov recommend`: the most probable items of a user, known or new."""

from __future__ import annotations

from typing import Any

import click

from kolmogorov.cli.options import (
    Count,
    format_options,
    known_id,
    layout_options,
    loaded,
    newcomer_options,
    read_input,
    unknown_option,
)
from kolmogorov.cli.shell import Input, ModelFile, Verb, doing


@click.command("recommend", cls=Verb)
@click.argument("model", type=ModelFile())
@click.argument("who", nargs=-1, metavar="[USER]...")
@click.option("--ratings", type=Input(), help="Ratings of new users; the model is not refitted.")
@click.option("-n", "--n", default=10, show_default=True, type=Count(), help="How many items.")
@click.option("--min-count", type=Count(), help="Leave out items with fewer ratings.  [default: 5, or less if need be]")
@click.option(
    "--rank",
    type=click.Choice(["auto", "probability", "lower"]),
    default="auto",
    show_default=True,
    help="Order by probability, or by its lower bound (auto: for models of fit --bayes).",
)
@click.option("--include-seen", is_flag=True, help="Also list items that the user has already rated.")
@newcomer_options
@unknown_option("error")
@format_options
@layout_options
def command(
    model: str, who: tuple[str, ...], ratings: str | None, n: int, form: str, output: str | None, **options: Any
) -> None:
    """List the items that each USER, whom the model knows, or new users will most probably like.

    \b
    Examples:
      kolmogorov recommend model.km 196 --n 5
      kolmogorov recommend model.km --ratings my_ratings.csv --format csv
      kolmogorov recommend model.km 196 --items new_films.csv
      kolmogorov recommend model.km --users new_people.csv
    """
    from kolmogorov.cli.display import emit, is_probability
    from kolmogorov.data.attributes import ids_of

    if bool(who) + (ratings is not None) > 1 or not (who or ratings or options["users"]):
        raise click.UsageError("Give users that the model knows, or --ratings or --users of new ones.")
    fitted_model = loaded(model, options)
    doing("Ranking items")
    asked: dict[str, Any] = {name: options[name] for name in ("min_count", "rank", "unknown")}
    if who:
        named = [known_id(fitted_model.users_, name, "user", options["unknown"]) for name in who]
        whom: Any = named if len(named) > 1 else named[0]
    elif ratings is not None:
        whom = read_input(ratings, options, like=fitted_model.fitted_)
    else:
        whom = ids_of(options["users"], "users")
    columns = fitted_model._asked(whom, n, exclude_seen=not options["include_seen"], **asked)
    if is_probability(fitted_model.scale_):
        columns.pop("rating", None)
    emit(columns, form, output, f"For {', '.join(who) or 'new users'}")
