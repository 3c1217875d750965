"""`kolmogorov recommend`: the most probable items of a user, known or new."""

from __future__ import annotations

from typing import Any

import click

from kolmogorov.cli.options import (
    COUNT,
    format_options,
    read_input,
    reading_options,
    refuse_given,
    scale_of,
    unknown_option,
)
from kolmogorov.cli.paths import Input
from kolmogorov.cli.verb import Verb


@click.command("recommend", cls=Verb)
@click.argument("model", type=Input())
@click.option("--user", "who", help="A user the model knows.")
@click.option("--ratings", type=Input(), help="Ratings of new users: each is placed by fold-in.")
@click.option("--top", default=10, show_default=True, type=COUNT, help="How many items.")
@click.option("--min-count", default=1, show_default=True, type=COUNT, help="Leave out items observed fewer times.")
@click.option("--include-seen", is_flag=True, help="Also items that the user was observed with.")
@unknown_option("error")
@format_options
@reading_options
def command(
    model: str,
    who: str | None,
    ratings: str | None,
    top: int,
    min_count: int,
    include_seen: bool,
    unknown: str,
    form: str,
    output: str | None,
    **layout: Any,
) -> None:
    """List the items that a user most probably says yes to.

    \b
    Examples:
      kolmogorov recommend model.km --user 196 --top 5
      kolmogorov recommend model.km --ratings my_ratings.csv --format csv
    """
    from kolmogorov.cli.display import emit
    from kolmogorov.cli.options import averaged, known_id
    from kolmogorov.model.loading import load

    if (who is None) == (ratings is None):
        raise click.UsageError("Give either --user or --ratings.")
    fitted_model = averaged(load(model))
    if who is not None:
        user = known_id(fitted_model.users_, who, "user", unknown)
        columns = fitted_model.recommendations(
            user, top, exclude_seen=not include_seen, min_count=min_count, unknown=unknown
        )
        emit(columns, form, output, f"For {who}")
        return
    refuse_given(["unknown"], "goes only with --user")
    observations = read_input(ratings or "", layout, from_model=True, **scale_of(fitted_model.scale_))
    emit(_for_new(fitted_model, observations, top, min_count, include_seen), form, output, "For new users")


def _for_new(model: Any, observations: Any, top: int, min_count: int, include_seen: bool) -> dict[str, list[Any]]:
    """Fold the users in, and join their lists."""
    from kolmogorov.surface.prediction import best_items, recommended

    theta = model.fold_in(observations, side="users")
    known = model.items_.encode(observations.items.ids, "item")
    joined: dict[str, list[Any]] = {}
    for row, user in enumerate(observations.users.ids.tolist()):
        entries = slice(observations.rows.indptr[row], observations.rows.indptr[row + 1])
        seen = known[observations.rows.indices[entries]][: 0 if include_seen else None]
        chosen = best_items(model.fitted_, theta[row], seen, top, min_count)
        columns: dict[str, Any] = {"user": [user] * len(chosen[0]), **recommended(model.fitted_, *chosen)}
        for name, cells in columns.items():
            joined.setdefault(name, []).extend(list(cells))
    return joined
