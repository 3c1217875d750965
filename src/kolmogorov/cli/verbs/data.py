"""`kolmogorov data`: what there is to learn from."""

from __future__ import annotations

from typing import Any

import click

from kolmogorov.cli.command import DATASET, DatasetName, Input, Table, Verb, doing, safe_cells_option
from kolmogorov.cli.options import (
    output_option,
    read_input,
    reading_options,
    scale_options,
    tell_source,
    titles_option,
)


@click.group("data")
def command() -> None:
    """List, describe, pack and export data.

    \b
    Examples:
      kolmogorov data list
      kolmogorov data describe ratings.csv
      kolmogorov data pack ratings/*.csv.gz -o table
      kolmogorov data export zoo -o zoo.csv
    """


@command.command("list", cls=Verb)
def list_datasets() -> None:
    """List the named datasets and where files are looked for.

    \b
    Example:
      kolmogorov data list
    """
    from kolmogorov.cli.display import console, table
    from kolmogorov.data import datasets
    from kolmogorov.data.datasets import data_directories

    known = datasets.names()
    console().print(table("Datasets", {"name": list(known), "what": list(known.values())}))
    console().print("MovieLens is looked for in: " + ", ".join(map(str, data_directories())))


@command.command("describe", cls=Verb)
@click.argument("data", type=Input(dir_okay=True))
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
@scale_options
@reading_options
def describe(data: str, form: str, **options: Any) -> None:
    """Say what is understood of DATA: columns, words, scale.

    DATA is read as `fit` reads it. What is missing or repeated is counted.

    \b
    Examples:
      kolmogorov data describe ratings.csv --maximum 5
      kolmogorov data describe survey.csv --wide --ignore Age --format json
    """
    import json

    import numpy as np

    from kolmogorov.cli.display import console, table
    from kolmogorov.data import datasets

    observations = read_input(data, options)
    if form == "json":
        sizes = {"n_users": observations.n_users, "n_items": observations.n_items, "n_observed": len(observations)}
        scale = {"minimum": observations.scale.minimum, "maximum": observations.scale.maximum}
        source = {} if observations.source is None else observations.source.to_dict()
        click.echo(json.dumps(sizes | source | {"scale": scale}, indent=2))
        return
    tell_source(console(), observations)
    if data.startswith(DATASET):
        name = data.removeprefix(DATASET)
        console().print(f"{name}: {datasets.names()[name]}")
    ratings = observations.scale.rating(observations.values)
    per_user, per_item = observations.rows.counts, observations.columns.counts
    rows = [("ratings", ratings), ("per user", per_user), ("per item", per_item)]
    points: dict[str, Any] = {"smallest": np.min, "median": np.median, "mean": np.mean, "largest": np.max}
    columns: dict[str, list[Any]] = {"": [name for name, _ in rows]}
    columns |= {point: [f"{function(array):,.4g}" for _, array in rows] for point, function in points.items()}
    console().print(table(None, columns))


@command.command("export", cls=Verb)
@click.argument("name", type=DatasetName())
@click.option("--format", "form", type=click.Choice(["csv", "json"]), default="csv", show_default=True)
@output_option("File to write.  [default: standard output]")
@safe_cells_option
def export(name: str, form: str, output: str | None) -> None:
    """Write the dataset NAME with the columns user, item, rating.

    \b
    Example:
      kolmogorov data export zoo -o zoo.csv
    """
    from kolmogorov.cli.display import emit
    from kolmogorov.data import datasets

    observations = datasets.load(name)
    columns = {
        "user": observations.users.ids[observations.user_rows()],
        "item": observations.items.ids[observations.item_rows()],
        "rating": observations.scale.rating(observations.values),
    }
    emit(columns, form, output)


@command.command("pack", cls=Verb)
@click.argument("files", nargs=-1, required=True, type=Input(dir_okay=True))
@click.option("-o", "--output", type=Table(), required=True, help="The table, a folder.")
@scale_options
@reading_options
@titles_option
def pack_files(files: tuple[str, ...], output: str, **options: Any) -> None:
    """Pack FILES into one table that is mapped, not read.

    Packing takes about 50 bytes of memory a rating; what is packed takes none. FILES are those that `fit` takes, as
    many as you like, and directories of parquet files. fit, tune, evaluate, rules, report and describe take the table
    in place of a file.

    \b
    Examples:
      kolmogorov data pack ratings/*.csv.gz -o table --maximum 5
      kolmogorov data pack part-*.parquet -o table
      kolmogorov fit table --events 16 -o model.km
    """
    from kolmogorov._support.markup import shown
    from kolmogorov.cli.display import console
    from kolmogorov.data.read import pack

    if output == "-":
        raise click.UsageError("A table is written to a file, not to standard output.")
    doing("Packing")
    say, table = console(), pack(files, output, **options)
    tell_source(say, table)
    say.print(f"Table written to {shown(output)}")
