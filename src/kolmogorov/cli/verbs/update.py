"""`kolmogorov update`: new ratings into a model, and old ones out of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from kolmogorov.cli.command import Input, ModelFile, Successor, Verb, doing, force_option
from kolmogorov.cli.options import JOBS, newcomer_options, pair_texts, read_input, reading_options, settings_like


@click.command("update", cls=Verb)
@click.argument("model", type=ModelFile())
@click.argument("data", type=Input(dir_okay=True), required=False)
@click.option(
    "-o", "--output", type=Successor(), required=True, help="Model file to write; it may be MODEL, which is replaced."
)
@force_option
@click.option("--remove", type=Input(), help="Pairs of a user and an item whose ratings are taken out.")
@click.option("--forget", multiple=True, help="A user who leaves the model with all ratings; may be repeated.")
@newcomer_options
@click.option("--seed", default=0, show_default=True, help="Of the draws.")
@click.option("--jobs", type=JOBS, default=-1, show_default=True, help="Threads; -1 for all processors.")
@reading_options
def command(
    model: str,
    data: str | None,
    output: str,
    remove: str | None,
    forget: tuple[str, ...],
    seed: int,
    jobs: int,
    **layout: Any,
) -> None:
    """Take the ratings in DATA into MODEL without fitting it again.

    Ratings of new users and items are added, and ratings that MODEL has already are corrected. Users and items whose
    ratings change are learned again, given all others. DATA is read as the file was that MODEL was fitted to, unless
    options say otherwise: --header, where only the new file names its columns.

    The new model replaces a file in one step: it is whole, or the old one is still there. A server that serves the file
    notices.

    \b
    Examples:
      kolmogorov update model.km today.csv -o model.km
      kolmogorov update model.km --remove mistakes.csv -o model.km
      kolmogorov update model.km --forget 196 -o model.km
      kolmogorov update model.km today.csv --items new_films.csv -o model.km
    """
    from kolmogorov._support.progress import notice
    from kolmogorov.cli.display import console
    from kolmogorov.models.loading import load

    new = {side: layout.pop(side) for side in ("users", "items")}
    if data is None and remove is None and not forget and not any(new.values()):
        raise click.UsageError("Give DATA, --remove or --forget, or new --users or --items.")
    doing(f"Loading {model}")
    fitted_model: Any = load(model)
    fitted_model.set_params(random_state=seed, n_jobs=jobs)
    ratings = None if data is None else _or_nothing(lambda: read_input(data, layout, like=fitted_model.fitted_))
    users = [fitted_model.users_.parse(name) for name in forget] or None
    pairs = None if remove is None else _or_nothing(lambda: _pairs_to_remove(remove, layout, fitted_model))
    doing("Updating the model")
    before = fitted_model.fitted_.training
    fitted_model.update(ratings, remove=pairs, forget=users, **new)
    fitted_model.save(output)
    after = fitted_model.fitted_.training
    if after is before:
        notice("No rating has changed, and the model is the same.", always=True)
        return
    console(stderr=True).print(
        f"{len(before):,} ratings of {before.n_users:,} users × {before.n_items:,} items before, {len(after):,} of "
        f"{after.n_users:,} × {after.n_items:,} now."
    )


def _or_nothing(read: Callable[[], Any]) -> Any:
    """Return what is read; None where the file is there and holds nothing, which changes nothing."""
    from kolmogorov._support.progress import notice
    from kolmogorov.errors import EmptyDataError

    try:
        return read()
    except EmptyDataError as error:
        notice(f"{error} It changes nothing.", always=True)
        return None


def _pairs_to_remove(path: str, layout: dict[str, Any], model: Any) -> list[tuple[Any, Any]]:
    """Return the pairs of a file as ids of the model; one that it does not know stays as it is written."""
    from kolmogorov._support.progress import notice

    told = settings_like(model.fitted_.recipe, layout, {"wide": False, "keep": None, "ignore": ()})
    texts = pair_texts(path, told)
    sides = [names.rows_of(side) for names, side in zip((model.users_, model.items_), texts, strict=True)]
    known = (sides[0] >= 0) & (sides[1] >= 0)
    if not known.all():
        notice(
            f"{int((~known).sum()):,} of {known.size:,} pairs in {path}: the model does not know the user or the item.",
            always=True,
        )
    users, items = model.users_.ids[sides[0][known]], model.items_.ids[sides[1][known]]
    return list(zip(users.tolist(), items.tolist(), strict=True))
