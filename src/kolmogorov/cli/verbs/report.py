"""`kolmogorov report`: one HTML file in which to explore a model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from kolmogorov.cli.options import data_option, layout_options, likes_level, likes_option, loaded, read_input
from kolmogorov.cli.shell import ModelFile, Output, Verb, doing


def _pair(context: click.Context, parameter: click.Parameter, text: str) -> tuple[str, str]:
    words = [word.strip() for word in text.split(",")]
    if len(words) != 2 or not all(words):
        raise click.BadParameter(f"expected two words, such as animal,trait, got {text!r}.")
    return words[0], words[1]


def _shape(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[int, int] | None:
    found = None if text is None else re.fullmatch(r"(\d+)[x×](\d+)", text.strip())
    if text is not None and not found:
        raise click.BadParameter(f"expected height x width, such as 8x8, got {text!r}.")
    return None if found is None else (int(found[1]), int(found[2]))


@click.command("report", cls=Verb)
@click.argument("model", type=ModelFile())
@data_option
@click.option("-o", "--output", type=Output(), default="report.html", show_default=True, help="Page to write.")
@click.option("--title", help="Of the page.  [default: the name of the data, or of the model's file]")
@likes_option
@click.option("--image", callback=_shape, metavar="HxW", help="Items are the pixels of pictures of this size.")
@click.option(
    "--nouns",
    default="user,item",
    callback=_pair,
    metavar="USER,ITEM",
    help="What a user and an item are, such as animal,trait or person/people,book.",
)
@click.option("--open", "and_open", is_flag=True, help="Show the page in a browser.")
@layout_options
def command(model: str, data: str | None, output: str, title: str | None, and_open: bool, **options: Any) -> None:
    """Write an HTML page that shows MODEL and how good it is. It needs no network and no server.

    As --data give the whole file that you fitted with --test-size: the held-out part is found automatically.

    \b
    Examples:
      kolmogorov fit ratings.csv --events 8 --test-size 0.2 -o model.km
      kolmogorov report model.km --data ratings.csv -o report.html
      kolmogorov report zoo.km --data dataset:zoo --nouns animal,trait --open
      kolmogorov report digits.km --data dataset:digits --image 8x8
    """
    from kolmogorov._support.markup import shown
    from kolmogorov.cli.display import console
    from kolmogorov.report import data_name

    fitted_model = loaded(model, options)
    fitted = fitted_model.fitted_
    likes = likes_level(fitted.scale, options["likes"])
    observations = None if data is None else read_input(data, options, like=fitted)
    screen = console(stderr=True)
    with screen.status("Report") as status:

        def tell(words: str) -> None:
            status.update(f"Report: {words}")
            doing(None if screen.is_terminal else f"Report: {words}")

        fitted_model.report(
            output,
            observations,
            title=title or data_name(fitted, observations) or Path(model).stem,
            likes=likes,
            image=options["image"],
            nouns=options["nouns"],
            progress=tell,
        )
    size = Path(output).stat().st_size
    screen.print(f"Written to {shown(output)} ({size / 1e6:.1f} MB){'.' if and_open else '; open it in a browser.'}")
    if and_open:
        import webbrowser

        webbrowser.open(Path(output).resolve().as_uri())
