"""Options that several verbs share, and how their values become observations, attributes, ids and pairs."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kolmogorov.cli.shell import OF_SCALES, SETTABLE, Input, Output, doing

if TYPE_CHECKING:
    from kolmogorov.data import Observations, Scale, Vocabulary
    from kolmogorov.data.told import Reading

F = TypeVar("F", bound=Callable[..., Any])
DATASET = "dataset:"


class Finite(click.FloatRange):
    """A number, perhaps within a range; infinity and what is no number are within none."""

    def _describe_range(self) -> str:
        return "" if self.min is None and self.max is None else super()._describe_range()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"must be a finite number, got {value}.", param, ctx)
        return number


class Count(click.IntRange):
    """A whole number that the library checks; more than fits into the integers of compiled code cannot be meant."""

    def __init__(self) -> None:
        super().__init__(-1_000_000, 1_000_000)

    def _describe_range(self) -> str:
        return ""


def value_of(text: str) -> Any:
    """Read a value as Python would write it: a number, true, false, or a text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False, "none": None}.get(text.lower(), text)


def _settings(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, Any]:
    found = dict(text.partition("=")[::2] for text in texts)
    for text in texts:
        if "=" not in text:
            raise click.BadParameter(f"expected NAME=VALUE, such as --set duplicates=mean, got {text!r}.")
    return {name.strip().replace("-", "_"): value_of(value) for name, value in found.items()}


def _column(context: click.Context, parameter: click.Parameter, text: str | None) -> str | int | None:
    return int(text) if text is not None and text.isdigit() else text


def _several(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
    """Split at commas; a name that holds one is in quotes."""
    return tuple(part.strip() for text in texts for part in (next(csv.reader([text])) if text else [""]))


def _meanings(context: click.Context, parameter: click.Parameter, text: str | None) -> dict[str, float] | None:
    """Read what words mean: yes=1,abstain=0.5,no=0."""
    if text is None:
        return None
    pairs = [part.rpartition("=") for part in text.split(",")]
    try:
        return {word.strip(): float(number) for word, _, number in pairs}
    except ValueError:
        raise click.BadParameter(f"expected words with numbers, such as yes=1,no=0, got {text!r}.") from None


def _all_of(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    def add(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return add


#: How a file is read: the parameters of `read_ratings` that are asked for most; the others by --set.
READING = ("user", "item", "value", "wide", "ignore", "implicit", "map", "missing", "maximum", "titles")
layout_options = _all_of(
    click.option("--user", callback=_column, metavar="COL", help="Column of users: name, or number from 0."),
    click.option("--item", callback=_column, metavar="COL", help="Column of items."),
    click.option("--value", callback=_column, metavar="COL", help="Column of values or ratings."),
    click.option("--wide", is_flag=True, help="One row per user, one column per item; empty is missing."),
    click.option(
        "--ignore",
        multiple=True,
        metavar="COL,...",
        callback=_several,
        help="With --wide: columns that are no items, such as an age.",
    ),
    click.option("--implicit", is_flag=True, help="Every line is a yes (clicks, purchases); nobody says no."),
    click.option("--map", callback=_meanings, metavar="WORD=NUMBER,...", help="What words mean: yes=1,maybe=0.5,no=0."),
    click.option(
        "--missing", multiple=True, metavar="MARKS", callback=_several, help="What means nothing: NA,99; '' is empty."
    ),
    click.option("--titles", type=Input(), metavar="FILE", help="What items are called: columns of ids and of titles."),
    click.option(
        "--set",
        "more",
        multiple=True,
        metavar="NAME=VALUE",
        callback=_settings,
        help="Any other parameter of Python's read_ratings, such as duplicates=mean, sep=';' or scale=column.",
    ),
)
_maximum = click.option("--maximum", type=Finite(), help="Rating that means probability 1.  [default: largest seen]")
reading_options = _all_of(layout_options, _maximum)
titles_option = click.option("--titles", type=Input(), metavar="FILE", help="What items are called.")
format_options = _all_of(
    click.option("--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True),
    click.option("-o", "--output", type=Output(), help="Write to a file (csv or json)."),
    click.option("--safe-cells", is_flag=True, help="In CSV, put ' before cells that a spreadsheet would run."),
)
newcomer_options = _all_of(
    click.option("--users", type=Input(), metavar="FILE", help="New users by the attributes that the model knows."),
    click.option("--items", type=Input(), metavar="FILE", help="New items by theirs."),
)
events_option = click.option("--events", "n_events", type=Count(), help="Elementary events.  [default: by the table]")
psi_option = click.option(
    "--psi",
    type=click.Choice(["binary", "soft"]),
    help="In an event an item happens or not, or with any chance (soft).",
)
seed_option = click.option("--seed", "random_state", default=0, show_default=True)
jobs_option = click.option("--jobs", "n_jobs", default=-1, type=Count(), show_default=True, help="Threads; -1 is all.")
likes_option = click.option("--likes", type=Finite(), help="Ratings from this on mean yes.  [default: the upper half]")
data_option = click.option("--data", type=Input(), help="Ratings to judge by; those in the training data are left out.")


def unknown_option(default: str) -> Callable[[F], F]:
    """Return a decorator that adds --unknown."""
    return click.option(
        "--unknown",
        type=click.Choice(["error", "average", "ignore"]),
        default=default,
        show_default=True,
        help="What to do with ids that the model has not seen; ignore is average without a warning.",
    )


# --- what is read -----------------------------------------------------------------------------------------------------


def told(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of a verb's options that are for `read_ratings`, as far as they were given."""
    refuse_strange(options["more"], (*SETTABLE, *OF_SCALES))
    given = {name: options[name] for name in READING if options.get(name) not in (None, (), False)}
    return given | options["more"]


def refuse_strange(names: Iterable[str], known: Collection[str]) -> None:
    """Refuse names behind --set that nobody knows."""
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, 1)
            raise click.UsageError(f"--set {name}: no such parameter.{f' Did you mean {near[0]}?' if near else ''}")


def read_input(path: str, options: Mapping[str, Any], *, like: Any = None) -> Observations:
    """Read a ratings file, map a packed table, or load a named dataset given as dataset:NAME.

    With what a model learned as `like`, the file is read as the one that it was learned from, and ratings are put on
    its scale.
    """
    from kolmogorov.data import Observations, datasets, read_ratings
    from kolmogorov.data.packed import is_table
    from kolmogorov.data.read import read_as_told

    doing("Reading standard input" if path == "-" else f"Reading {path}")
    given = told(options)
    if path.startswith(DATASET) or is_table(path):
        layout = [name for name in given if name not in ("titles", "implicit")]
        if layout and like is None:
            raise click.UsageError(f"{path} has its own layout and scale; leave {', '.join(layout)} out.")
        table = datasets.load(path.removeprefix(DATASET)) if path.startswith(DATASET) else Observations.open(path)
        return table.with_titles(items=given.get("titles"))
    return read_ratings(path, **given) if like is None else read_as_told(path, reading_like(like, options))


def reading_like(fitted: Any, options: Mapping[str, Any], *, pairs: bool = False) -> Reading:
    """Return how to read a file as the one that a model was learned from; options of the command line go first."""
    from kolmogorov.data.told import Reading

    if pairs:
        return Reading.of_recipe(fitted.recipe, told(options) | {"wide": False, "keep": None, "ignore": ()})
    return Reading.of_recipe(fitted.recipe, told(options) | _on_scale(fitted.scale))


def _on_scale(scale: Scale) -> dict[str, Any]:
    """Return the parameters that put new data on a model's scale."""
    if scale.minimum == 0.0:
        return {"maximum": scale.maximum}
    return {"minimum": scale.minimum, "maximum": scale.maximum, "scaling": "minmax"}


def likes_level(scale: Scale, likes: float | None) -> float | None:
    """Turn --likes, in rating units, into a threshold on the probability scale."""
    if likes is not None and not scale.minimum < likes <= scale.maximum:
        raise click.BadParameter(
            f"must lie above {scale.minimum:g} and be at most {scale.maximum:g}, the model's scale; got {likes:g}.",
            param_hint="--likes",
        )
    return None if likes is None else float(scale.probability(likes))


def pair_texts(path: str, options: Reading) -> tuple[list[str], list[str]]:
    """Read pairs as texts, whatever they are in."""
    from kolmogorov.data import Observations
    from kolmogorov.data.packed import is_table
    from kolmogorov.data.read import read_pairs

    if is_table(path):
        table = Observations.open(path)
        return table.users.ids[table.user_rows()].tolist(), table.items.ids[table.item_rows()].tolist()
    return read_pairs(path, options)


# --- models -----------------------------------------------------------------------------------------------------------


def loaded(path: str, options: Mapping[str, Any], lacking: str = "") -> Any:
    """Load a model, with new users and items of --users and --items, its items under their titles.

    Where the verb needs events, `lacking` is what a model without any has not.
    """
    from kolmogorov.errors import DataError
    from kolmogorov.models.base import EventModel
    from kolmogorov.models.loading import load

    doing(f"Loading {path}")
    model = load(path)
    if lacking and not isinstance(model, EventModel):
        raise DataError(f"{path} holds a {type(model).__name__}, which has no {lacking}.")
    files = {side: options[side] for side in ("users", "items") if options.get(side) is not None}
    if files and not hasattr(model, "fold_in"):
        raise DataError(f"{path} holds a {type(model).__name__}, which knows no attributes.")
    return (model.update(**files) if files else model).with_titles(items=options.get("titles"))


def known_id(names: Vocabulary, text: str, what: str, unknown: str = "error") -> str:
    """Read an id or a title; one that the model does not know is an error that names those most like it."""
    from kolmogorov.errors import UnknownIdError

    found = names.parse(text)
    if unknown == "error" and names.rows_of([found])[0] < 0:
        raise UnknownIdError(f"The model has no data on {what} {found!r}.{names.suggestion(text)}")
    return found
