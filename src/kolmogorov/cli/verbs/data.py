"""`kolmogorov data`: what there is to learn from."""

from __future__ import annotations

from typing import Any

import click

from kolmogorov.cli.options import DATASET, read_input, reading_options, told
from kolmogorov.cli.shell import Input, Output, Verb, doing


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

    known = datasets.names()
    console().print(table("Datasets", {"name": list(known), "what": list(known.values())}))
    console().print("MovieLens is looked for in: " + ", ".join(map(str, datasets.data_directories())))


@command.command("describe", cls=Verb)
@click.argument("data", type=Input())
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
@reading_options
def describe(data: str, form: str, **options: Any) -> None:
    """Say what is understood of DATA, read as `fit` reads it: columns, words, scale, what is missing or repeated.

    \b
    Examples:
      kolmogorov data describe ratings.csv --maximum 5
      kolmogorov data describe survey.csv --wide --ignore Age --format json
    """
    import numpy as np

    from kolmogorov.cli.display import console, emit_json, table
    from kolmogorov.data import datasets

    observations = read_input(data, options)
    source, scale = observations.source, observations.scale
    if form == "json":
        sizes = {"n_users": observations.n_users, "n_items": observations.n_items, "n_observed": len(observations)}
        understood = {} if source is None else source.to_dict()
        emit_json(sizes | understood | {"scale": {"minimum": scale.minimum, "maximum": scale.maximum}}, None)
        return
    out = console()
    out.print("\n".join([*(() if source is None else source.lines()), str(observations)]))
    if data.startswith(DATASET):
        name = data.removeprefix(DATASET)
        out.print(f"{name}: {datasets.names()[name]}")
    counts = {"per user": observations.rows.counts, "per item": observations.columns.counts}
    rows = {"ratings": scale.rating(observations.values), **counts}
    points: dict[str, Any] = {"smallest": np.min, "median": np.median, "mean": np.mean, "largest": np.max}
    columns = {point: [f"{function(array):,.4g}" for array in rows.values()] for point, function in points.items()}
    out.print(table(None, {"": list(rows), **columns}))


@command.command("export", cls=Verb)
@click.argument("name")
@click.option("--format", "form", type=click.Choice(["csv", "json"]), default="csv", show_default=True)
@click.option("-o", "--output", type=Output(), help="File to write.  [default: standard output]")
@click.option("--safe-cells", is_flag=True, help="In CSV, put ' before cells that a spreadsheet would run.")
def export(name: str, form: str, output: str | None, safe_cells: bool) -> None:
    """Write the dataset NAME with the columns user, item, rating.

    \b
    Example:
      kolmogorov data export zoo -o zoo.csv
    """
    from kolmogorov.cli.display import emit
    from kolmogorov.data import datasets

    table = datasets.load(name)
    columns = {"user": table.users.ids[table.user_rows()], "item": table.items.ids[table.item_rows()]}
    emit({**columns, "rating": table.scale.rating(table.values)}, form, output)


@command.command("pack", cls=Verb)
@click.argument("files", nargs=-1, required=True, type=Input())
@click.option("-o", "--output", type=Output(folder=True), required=True, help="The table, a folder.")
@reading_options
def pack_files(files: tuple[str, ...], output: str, **options: Any) -> None:
    """Pack FILES into one table that is mapped, not read.

    Packing takes about 50 bytes of memory a rating; what is packed takes none. FILES are those that `fit` takes, as
    many as you like, and directories of parquet files. Verbs take the table in place of a file.

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
        raise click.UsageError("A table is written to a folder, not to standard output.")
    doing("Packing")
    table, out = pack(files, output, **told(options)), console()
    out.print("\n".join([*(table.source.lines() if table.source else ()), str(table)]))
    out.print(f"Table written to {shown(output)}")
