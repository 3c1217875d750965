"""`kolmogorov update`: new ratings into a model, and old ones out of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from kolmogorov.cli.options import (
    jobs_option,
    layout_options,
    newcomer_options,
    pair_texts,
    read_input,
    reading_like,
    seed_option,
)
from kolmogorov.cli.shell import Input, ModelFile, Output, Verb, doing


@click.command("update", cls=Verb)
@click.argument("model", type=ModelFile())
@click.argument("data", type=Input(), required=False)
@click.option("-o", "--output", type=Output(updated=True), required=True, help="File to write; it may be MODEL.")
@click.option("--remove", type=Input(), help="Pairs of a user and an item whose ratings are taken out.")
@click.option("--forget", multiple=True, help="A user who leaves the model with all ratings; may be repeated.")
@newcomer_options
@seed_option
@jobs_option
@layout_options
def command(
    model: str, data: str | None, output: str, remove: str | None, forget: tuple[str, ...], **options: Any
) -> None:
    """Take the ratings in DATA into MODEL without fitting it again.

    Ratings of new users and items are added, and ratings that MODEL has already are corrected. Users and items whose
    ratings change are learned again, given all others. DATA is read as the file was that MODEL was fitted to, unless
    options say otherwise. The new model replaces a file in one step, and a server that serves the file notices.

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

    new = {side: options.pop(side) for side in ("users", "items")}
    if data is None and remove is None and not forget and not any(new.values()):
        raise click.UsageError("Give DATA, --remove or --forget, or new --users or --items.")
    doing(f"Loading {model}")
    fitted_model: Any = load(model)
    fitted_model.set_params(random_state=options["random_state"], n_jobs=options["n_jobs"])
    before = fitted_model.fitted_.training
    ratings = pairs = None
    if data is not None:
        ratings = _or_nothing(lambda: read_input(data, options, like=fitted_model.fitted_))
    if remove is not None:
        told = reading_like(fitted_model.fitted_, options, pairs=True)
        texts = _or_nothing(lambda: pair_texts(remove, told))
        pairs = None if texts is None else list(zip(*texts, strict=True))
    doing("Updating the model")
    leaving = [fitted_model.users_.parse(name) for name in forget] or None
    fitted_model.update(ratings, remove=pairs, forget=leaving, **new)
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
