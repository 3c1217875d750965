"""`kolmogorov paper`: the paper's tables and figures, computed again."""

from __future__ import annotations

import click

from kolmogorov.cli.paths import OutputFolder
from kolmogorov.cli.verb import Verb, force_option


@click.command("paper", cls=Verb)
@click.argument("items", nargs=-1, required=True)
@click.option("--quick", is_flag=True, help="Few repetitions: some minutes for everything on two processors.")
@click.option("--out", "folder", default="paper-results", show_default=True, type=OutputFolder())
@force_option
@click.option("--fresh", is_flag=True, help="Compute again what the folder already holds.")
def command(items: tuple[str, ...], quick: bool, folder: str, fresh: bool) -> None:
    r"""Compute tables and figures of the paper and set them beside the printed numbers.

    ITEMS are names such as table1 or fig6; "all" is every one of them, "list" lists them. Each item writes a CSV, a
    PNG, an SVG and a Markdown fragment into the folder; "all" joins them into index.html and index.md, and goes on
    where an interrupted run stopped.

    \b
    Examples:
      kolmogorov paper list
      kolmogorov paper table2 fig1 --quick --out results
      kolmogorov paper all --out results
    """
    from pathlib import Path

    from kolmogorov._support.optional import require
    from kolmogorov._support.wording import shown
    from kolmogorov.cli.display import console, table
    from kolmogorov.errors import ParameterError
    from kolmogorov.paper import ITEMS
    from kolmogorov.paper.runner import join, run_items

    if items == ("list",):
        console().print(table("Items", {"name": list(ITEMS), "what": list(ITEMS.values())}))
        return
    names = list(ITEMS) if "all" in items else list(items)
    for name in names:
        if name not in ITEMS:
            raise ParameterError(f"The paper has no {name!r}; `kolmogorov paper list` lists its items.")
    require("matplotlib", extra="paper", purpose="kolmogorov paper")
    require("clarabel", extra="paper", purpose="kolmogorov paper")
    say = console(stderr=True)
    with say.status("") as status:

        def tell(message: str) -> None:
            status.update(message)
            if not say.is_terminal and message.count(":") == 1:
                say.print(message)

        run_items(names, Path(folder), quick=quick, say=tell, fresh=fresh)
    if "all" in items:
        join(Path(folder))
    console().print(f"Written to {shown(folder)}")
