"""`kolmogorov recommend`: the most probable items of a user, known or new."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kolmogorov.cli.command import Input, ModelFile, Verb, doing
from kolmogorov.cli.options import (
    COUNT,
    format_options,
    is_probability,
    known_id,
    newcomer_options,
    read_input,
    reading_options,
    refuse_given,
    titles_option,
    unknown_option,
    with_newcomers,
)

if TYPE_CHECKING:
    from kolmogorov.models.base import Rank
    from kolmogorov.models.ids import Unknown


@click.command("recommend", cls=Verb)
@click.argument("model", type=ModelFile())
@click.argument("who", nargs=-1, metavar="[USER]...")
@click.option("--ratings", type=Input(), help="Ratings of new users; the model is not refitted.")
@click.option("--top", default=10, show_default=True, type=COUNT, help="How many items.")
@click.option(
    "--min-count",
    type=COUNT,
    help="Leave out items with fewer ratings.  [default: 5, or less if few items would remain]",
)
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
@reading_options
@titles_option
def command(
    model: str,
    who: tuple[str, ...],
    ratings: str | None,
    top: int,
    min_count: int | None,
    rank: Rank,
    include_seen: bool,
    unknown: Unknown,
    form: str,
    output: str | None,
    titles: str | None,
    **layout: Any,
) -> None:
    """List the items that each USER, whom the model knows, or new users will most probably like.

    \b
    Examples:
      kolmogorov recommend model.km 196 --top 5
      kolmogorov recommend model.km --ratings my_ratings.csv --format csv
      kolmogorov recommend model.km 196 --items new_films.csv
      kolmogorov recommend model.km --users new_people.csv
    """
    from kolmogorov._support.validation import NONE, check_parameters, integer
    from kolmogorov.cli.display import emit
    from kolmogorov.data.attributes import ids_of
    from kolmogorov.models.loading import load

    check_parameters("recommend", {"n": top, "min_count": min_count}, {"n": integer(1), "min_count": integer(1) | NONE})
    asked = [bool(who), ratings is not None]
    if sum(asked) > 1 or not (any(asked) or layout["users"]):
        raise click.UsageError("Give users that the model knows, or --ratings or --users of new ones.")
    doing(f"Loading {model}")
    fitted_model = with_newcomers(load(model), model, layout).with_titles(items=titles)
    doing("Ranking items")
    options: dict[str, Any] = {"exclude_seen": not include_seen, "min_count": min_count, "rank": rank}
    if who:
        users = [known_id(fitted_model.users_, name, "user", unknown) for name in who]
        columns = fitted_model._asked(users if len(users) > 1 else users[0], top, unknown=unknown, **options)
        emit(_shown(columns, fitted_model), form, output, f"For {', '.join(who)}")
        return
    refuse_given(["unknown"], "goes only with users that the model knows")
    if ratings is None:
        new = ids_of(layout["users"], "users")
        emit(_shown(fitted_model._asked(new, top, **options), fitted_model), form, output, "For new users")
        return
    guests = read_input(ratings, layout, like=fitted_model.fitted_)
    emit(_shown(fitted_model._asked(guests, top, **options), fitted_model), form, output, "For new users")


def _shown(columns: dict[str, Any], model: Any) -> dict[str, Any]:
    """Leave out ratings that are the probabilities."""
    return {name: column for name, column in columns.items() if name != "rating" or not is_probability(model.scale_)}
