"""`kolmogorov report`: one HTML file in which to explore a model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from kolmogorov.cli.command import Input, ModelFile, Verb, doing
from kolmogorov.cli.options import (
    Finite,
    likes_level,
    output_option,
    read_input,
    reading_options,
    titles_option,
)


@click.command("report", cls=Verb)
@click.argument("model", type=ModelFile())
@click.option(
    "--data",
    type=Input(dir_okay=True),
    help="Ratings to test the model on; those in the training data are left out.",
)
@output_option("Page to write.", default="report.html", show_default=True)
@click.option("--title", help="Of the page.  [default: the name of the data, or of the model's file]")
@click.option("--subtitle", help="Below the title.  [default: the date]")
@click.option(
    "--likes", type=Finite(), help="Ratings of at least this mean yes.  [default: the upper half of the ratings]"
)
@click.option(
    "--image",
    callback=lambda context, parameter, text: _shape(text),
    metavar="HxW",
    help="The items (or users) are the pixels of pictures of this size, row by row.",
)
@click.option(
    "--nouns",
    callback=lambda context, parameter, text: _pair(text),
    metavar="USER,ITEM",
    help="What a user and an item are, such as animal,trait or person/people,book.",
)
@click.option("--open", "and_open", is_flag=True, help="Show the page in a browser.")
@click.option("--max-users", default=10_000, show_default=True, type=click.IntRange(1), help="Those with most ratings.")
@reading_options
@titles_option
def command(
    model: str,
    data: str | None,
    output: str,
    title: str | None,
    subtitle: str | None,
    likes: float | None,
    image: tuple[int, int] | None,
    nouns: tuple[str, str],
    and_open: bool,
    max_users: int,
    titles: str | None,
    **layout: Any,
) -> None:
    """Write an HTML page that shows MODEL and how good it is.

    The page shows the quality of MODEL, its events, items, their order, and users.

    The file needs no network and no server. As --data give the whole file that you fitted with --test-size: the
    held-out part is found automatically.

    \b
    Examples:
      kolmogorov fit ratings.csv --events 8 --test-size 0.2 -o model.km
      kolmogorov report model.km --data ratings.csv -o report.html
      kolmogorov report zoo.km --data dataset:zoo --nouns animal,trait --open
      kolmogorov report digits.km --data dataset:digits --image 8x8
    """
    from kolmogorov._support.markup import shown
    from kolmogorov.cli.display import console
    from kolmogorov.cli.models import load_with_events
    from kolmogorov.report import data_name

    fitted_model = load_with_events(model, titles, ", which has no events to show.", lists=True)
    scale = fitted_model.fitted_.scale
    options: dict[str, Any] = {"likes": likes_level(scale, likes), "image": image}
    observations = None if data is None else read_input(data, layout, like=fitted_model.fitted_)
    screen = console(stderr=True)

    def tell(words: str) -> None:
        status.update(f"Report: {words}")
        doing(None if screen.is_terminal else f"Report: {words}")

    with screen.status("Report") as status:
        fitted_model.report(
            output,
            observations,
            title=title or data_name(fitted_model.fitted_, observations) or Path(model).stem,
            subtitle=subtitle,
            max_users=max_users,
            nouns=nouns,
            progress=tell,
            **options,
        )
    size = Path(output).stat().st_size
    screen.print(f"Written to {shown(output)} ({size / 1e6:.1f} MB){'.' if and_open else '; open it in a browser.'}")
    if and_open:
        import webbrowser

        webbrowser.open(Path(output).resolve().as_uri())


def _pair(text: str | None) -> tuple[str, str]:
    if text is None:
        return "user", "item"
    words = [word.strip() for word in text.split(",")]
    if len(words) != 2 or not all(words):
        raise click.BadParameter(f"expected two words, such as animal,trait, got {text!r}.")
    return words[0], words[1]


def _shape(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    found = re.fullmatch(r"(\d+)[x×](\d+)", text.strip())
    if not found:
        raise click.BadParameter(f"expected height x width, such as 8x8, got {text!r}.")
    return int(found[1]), int(found[2])
