"""`kolmogorov paper`: the paper's tables and figures, computed again."""

from __future__ import annotations

import re

import click

from kolmogorov.cli.command import OutputFolder, Verb, doing, force_option


@click.command("paper", cls=Verb)
@click.argument("items", nargs=-1, required=True)
@click.option("--quick", is_flag=True, help="Few repetitions: four minutes for everything on two processors.")
@click.option("--out", "folder", default="paper-results", show_default=True, type=OutputFolder())
@force_option
@click.option("--jobs", type=click.IntRange(1), help="Processes that parts are dealt to.  [default: all processors]")
@click.option("--fresh", is_flag=True, help="Compute again what the folder already holds.")
@click.option("--share", metavar="K/N", help="Compute only the K-th of N shares of the parts, and write no documents.")
def command(items: tuple[str, ...], quick: bool, folder: str, jobs: int | None, fresh: bool, share: str | None) -> None:
    """Compute the tables and figures of the paper.

    The numbers are set beside those that the paper prints.

    ITEMS are names such as table1 or fig6; "all" is every one of them, "list" lists them. What is computed is stored in
    the folder part by part, and a run goes on where another stopped, there or on another machine. From what is stored
    each item writes a CSV, a Markdown fragment and, with matplotlib, a PNG and an SVG; "all" joins them into index.html
    and index.md. "page" computes nothing and writes all that is complete.

    \b
    Examples:
      kolmogorov paper list
      kolmogorov paper table2 fig1 --quick --out results
      kolmogorov paper table5 --share 1/3 --out results
      kolmogorov paper all --jobs 16 --out results
      kolmogorov paper page --out results
    """
    from pathlib import Path

    from kolmogorov._support.threads import usable_cpus
    from kolmogorov._support.wording import shown
    from kolmogorov.cli.display import console, table
    from kolmogorov.errors import ParameterError
    from kolmogorov.paper import ITEMS, Effort
    from kolmogorov.paper.document import write_document, write_items
    from kolmogorov.paper.runner import compute

    if items == ("list",):
        console().print(table("Items", {"name": list(ITEMS), "what": list(ITEMS.values())}))
        return
    whole = items in (("all",), ("page",))
    names = list(ITEMS) if whole else list(items)
    for name in names:
        if name not in ITEMS:
            raise ParameterError(f"The paper has no {name!r}; `kolmogorov paper list` lists its items.")
    divided = _share(share)
    effort = Effort(quick)
    say = console(stderr=True)
    doing(None)
    with say.status("") as status:

        def tell(message: str) -> None:
            status.update(message)
            if not say.is_terminal or "left out" in message:
                say.print(message)

        if items != ("page",):
            workers = jobs or usable_cpus()
            compute(names, Path(folder), effort, say=tell, fresh=fresh, share=divided, jobs=workers)
        if share is None:
            results = write_items(names, Path(folder), effort, say=tell)
            if whole:
                write_document(results, Path(folder), effort)
    console().print(f"Written to {shown(folder)}")


def _share(text: str | None) -> tuple[int, int]:
    from kolmogorov.errors import ParameterError

    found = re.fullmatch(r"(\d+)/(\d+)", text or "1/1")
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise ParameterError(f"--share takes K/N with 1 <= K <= N, such as 2/3, got {text!r}.")
    return int(found[1]), int(found[2])
