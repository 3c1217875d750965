"""Options that several verbs share, and how their values become observations, attributes, ids and pairs."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kolmogorov.cli.command import DATASET, Input, Output, doing, force_option, grouped, safe_cells_option

if TYPE_CHECKING:
    from kolmogorov.data import Observations, Scale, Vocabulary
    from kolmogorov.data.attributes import Attributes, Side
    from kolmogorov.data.told import Reading

F = TypeVar("F", bound=Callable[..., Any])


class Finite(click.FloatRange):
    """A number, perhaps within a range; infinity and what is no number are within none."""

    def _describe_range(self) -> str:
        """Say the range in the help, where there is one."""
        return "" if self.min is None and self.max is None else super()._describe_range()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"must be a finite number, got {value}.", param, ctx)
        return number


class _Number(click.IntRange):
    """A whole number within a range that nobody leaves on purpose, and that the help need not tell."""

    def _describe_range(self) -> str:
        return ""


class _Events(_Number):
    """A number of events, or auto, which leaves it to the model."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the number."""
        return None if value == "auto" else super().convert(value, param, ctx)


#: More cannot be meant, and would not fit into the integers of compiled code.
COUNT = _Number(max=1_000_000_000)
#: Equations of more events than this have no place in any memory.
EVENTS = _Events(max=1_000_000)
JOBS = _Number(-10_000, 10_000)
#: What an item may be in an event.
PSI = click.Choice(["binary", "soft"])


class ColumnName(click.ParamType):  # type: ignore[type-arg]
    """A column; a number is its position."""

    name = "column"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read a name or a position."""
        return int(value) if isinstance(value, str) and value.isdigit() else value


_COLUMN = ColumnName()


class Meanings(click.types.StringParamType):
    """What words mean: yes=1,abstain=0.5,no=0."""

    name = "WORD=NUMBER,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the words and their numbers."""
        if isinstance(value, dict):
            return value
        found: dict[str, float] = {}
        for part in value.split(","):
            word, mark, number = part.rpartition("=")
            try:
                found[word.strip()] = float(number)
            except ValueError:
                mark = ""
            if not mark:
                self.fail(f"expected words with numbers, such as yes=1,abstain=0.5,no=0, got {part!r}.", param, ctx)
        return found


def _marks(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(mark for text in value for mark in text.split(","))


def _columns(context: click.Context, parameter: click.Parameter, value: Any) -> tuple[Any, ...] | None:
    """Read columns separated by commas; a name that holds one is in quotes."""
    if value is None:
        return None
    texts = (value,) if isinstance(value, str) else value
    return tuple(
        _COLUMN.convert(name.strip(), parameter, context) for text in texts for name in next(csv.reader([text]))
    )


def _told_or_auto(context: click.Context, parameter: click.Parameter, value: bool | None) -> bool | str:
    return "auto" if value is None else value


#: The options of `read_ratings`, by their names there.
READING: dict[str, Callable[[Any], Any]] = {
    "user": click.option("--user", type=_COLUMN, metavar="COL", help="Column of users: name, or number from 0."),
    "item": click.option("--item", type=_COLUMN, metavar="COL", help="Column of items."),
    "value": click.option("--value", type=_COLUMN, metavar="COL", help="Column of values or ratings."),
    "weight": click.option("--weight", type=_COLUMN, metavar="COL", help="Column of weights; none by default."),
    "sep": click.option("--sep", default="auto", show_default=True, help="Separator, 'whitespace' or 'auto'."),
    "header": click.option(
        "--header/--no-header", default=None, callback=_told_or_auto, help="Whether line 1 names the columns."
    ),
    "encoding": click.option(
        "--encoding", default="auto", show_default=True, help="Of the text file; auto guesses it."
    ),
    "duplicates": click.option(
        "--duplicates",
        type=click.Choice(["error", "mean", "last"]),
        default="error",
        show_default=True,
        help="What to do with duplicate ratings of a pair.",
    ),
    "wide": click.option("--wide", is_flag=True, help="One row per user, one column per item; empty is missing."),
    "keep": click.option("--keep", metavar="COL,...", callback=_columns, help="With --wide: the columns to use."),
    "ignore": click.option(
        "--ignore",
        multiple=True,
        metavar="COL,...",
        callback=_columns,
        help="With --wide: columns that are no items, such as an age. May be repeated.",
    ),
    "implicit": click.option(
        "--implicit",
        is_flag=True,
        help="Every line is a yes (clicks, purchases); no column of values is needed. All else counts as a no of small "
        "weight.",
    ),
    "map": click.option("--map", type=Meanings(), help="What words mean, such as yes=1,abstain=0.5,no=0."),
    "missing": click.option(
        "--missing",
        multiple=True,
        metavar="MARKS",
        callback=_marks,
        help="What stands for a missing value, such as NA,99; '' for empty. May be repeated.",
    ),
    "decimal": click.option(
        "--decimal",
        type=click.Choice(["auto", ".", ","]),
        default="auto",
        show_default=True,
        help="Decimal separator.",
    ),
    "thousands": click.option("--thousands", metavar="CHAR", help="Separator of thousands."),
    "maximum": click.option(
        "--maximum", type=Finite(), help="Rating that means probability 1.  [default: largest seen]"
    ),
    "minimum": click.option(
        "--minimum", type=Finite(), help="Rating that means probability 0.  [default: 0, or the smallest seen]"
    ),
    "scaling": click.option(
        "--scaling",
        type=click.Choice(["auto", "max", "minmax"]),
        default="auto",
        show_default=True,
        help="p = r / maximum, or p = (r - minimum) / (maximum - minimum), as for negative ratings.",
    ),
    "scale": click.option(
        "--scale",
        type=click.Choice(["table", "column"]),
        default="table",
        show_default=True,
        help="With --wide: one scale, or each column between its own ends.",
    ),
    "titles": click.option(
        "--titles",
        type=Input(),
        metavar="FILE",
        help="What the items are called: two columns, id and title, separated by commas, tabs, | or ::.",
    ),
}
_OF_SCALES = ("maximum", "minimum", "scaling", "scale")


def adding(*names: str) -> Callable[[F], F]:
    """Return a decorator that adds options of `read_ratings`, in this order."""
    return grouped("Reading the file", *(READING[name] for name in names))


scale_options, titles_option = adding(*_OF_SCALES), adding("titles")
#: All that concern how a file is laid out and how its values are written.
reading_options = adding(*(name for name in READING if name not in (*_OF_SCALES, "titles")))


def format_options(function: F) -> F:
    """Add --format, --output, --safe-cells and --force."""
    form = click.option(
        "--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True
    )
    return form(output_option("Write to a file (csv or json).")(safe_cells_option(function)))


def output_option(text: str, **more: Any) -> Callable[[F], F]:
    """Return a decorator that adds --output, and --force for read-only files."""

    def add(function: F) -> F:
        return click.option("-o", "--output", type=Output(), help=text, **more)(force_option(function))

    return add


def unknown_option(default: str) -> Callable[[F], F]:
    """Return a decorator that adds --unknown."""
    return click.option(
        "--unknown",
        type=click.Choice(["error", "average", "ignore"]),
        default=default,
        show_default=True,
        help="What to do with users and items that the model has not seen; ignore is average without a warning.",
    )


def read_input(path: str, options: Mapping[str, Any], *, like: Any = None) -> Observations:
    """Read a ratings file, map a packed table, or load a named dataset given as dataset:NAME.

    `options` may hold others than those of `read_ratings`. With what a model learned as `like`, the file is read as the
    one that it was learned from, and ratings are put on its scale.
    """
    from kolmogorov.data import Observations, datasets, read_ratings
    from kolmogorov.data.packed import is_table
    from kolmogorov.data.read import read_as_told

    doing("Reading standard input" if path == "-" else f"Reading {path}")
    if path.startswith(DATASET) or is_table(path):
        given = given_of(name for name in READING if name != "titles")
        if given and like is None:
            raise click.UsageError(f"{path} has its own layout and scale; drop {', '.join(given)}.")
        table = datasets.load(path.removeprefix(DATASET)) if path.startswith(DATASET) else Observations.open(path)
        return table.with_titles(items=options.get("titles"))
    if like is None:
        return read_ratings(path, **reading_settings(options))
    return read_as_told(path, settings_like(like.recipe, options, _scale_settings(like.scale)))


def settings_like(
    recipe: Mapping[str, Any], options: Mapping[str, Any], more: Mapping[str, Any] | None = None
) -> Reading:
    """Return how to read a file by the recipe of another; options of the command line go first."""
    from kolmogorov.data.told import Reading

    context = click.get_current_context()
    by_default = click.core.ParameterSource.DEFAULT
    told = reading_settings(options)
    asked = {name: told[name] for name in told if context.get_parameter_source(name) is not by_default}
    return Reading.of_recipe(recipe, asked | dict(more or {}))


def tell_source(say: Any, table: Observations) -> None:
    """Print what was understood of a file, and what came of it."""
    source = [] if table.source is None else table.source.lines()
    say.print("\n".join([*source, str(table)]))


def reading_settings(options: Mapping[str, Any], names: Iterable[str] = READING) -> dict[str, Any]:
    """Return those of a verb's options that are for `read_ratings`, or for another reader that takes fewer."""
    return {name: options[name] for name in names if name in options}


def _scale_settings(scale: Scale) -> dict[str, Any]:
    """Return the reading options that put new data on a model's scale."""
    if scale.minimum == 0.0:
        return {"maximum": scale.maximum}
    return {"minimum": scale.minimum, "maximum": scale.maximum, "scaling": "minmax"}


def is_probability(scale: Scale) -> bool:
    """Tell whether ratings are the probabilities themselves, and need not be shown twice."""
    return (scale.minimum, scale.maximum) == (0.0, 1.0)


def likes_level(scale: Scale, likes: float | None) -> float | None:
    """Turn --likes, in rating units, into a threshold on the probability scale; None where it was not given."""
    if likes is None:
        return None
    if not scale.minimum < likes <= scale.maximum:
        raise click.BadParameter(
            f"must lie above {scale.minimum:g} and be at most {scale.maximum:g}, the model's scale; got {likes:g}.",
            param_hint="--likes",
        )
    return float(scale.probability(likes))


def given_of(names: Iterable[str]) -> list[str]:
    """Return those of some options of the command that were given, as they are written."""
    context = click.get_current_context()
    flags = {option.name: option.opts[0] for option in context.command.params}
    source = click.core.ParameterSource.COMMANDLINE
    return [flags[name] for name in names if context.get_parameter_source(name) is source]


def refuse_given(names: Iterable[str], why: str) -> None:
    """Refuse options of the command that would be ignored."""
    given = given_of(names)
    if given:
        raise click.UsageError(f"{', '.join(given)}: {why}.")


# --- what is read beside ratings --------------------------------------------------------------------------------------


def attribute_options(users: str, items: str) -> Callable[[F], F]:
    """Return a decorator that adds --users and --items, each with its help."""
    return grouped(
        "Attributes (CSV or parquet files, one row for each id)",
        click.option("--users", type=Input(), metavar="FILE", help=users),
        click.option("--items", type=Input(), metavar="FILE", help=items),
    )


def read_attribute_files(table: Any, options: dict[str, Any], say: Any) -> dict[str, Attributes]:
    """Read what --users and --items name beside a table, and say what was understood."""
    from kolmogorov.data.attributes import read_attributes

    if options["implicit"]:
        refuse_given(("users", "items"), "does not go with --implicit: attributes are for draws, and there are none")
    found: dict[str, Attributes] = {}
    sides: tuple[Side, ...] = ("users", "items")
    for side in sides:
        if options[side] is not None:
            doing(f"Reading {options[side]}")
            found[side] = read_attributes(options[side], getattr(table, side), side)
            say.print("\n".join(found[side].lines(side)))
    return found


def with_newcomers(model: Any, path: str, options: dict[str, Any]) -> Any:
    """Introduce to a model, read from `path`, whom and what --users and --items name."""
    from kolmogorov.errors import DataError

    files = {side: options[side] for side in ("users", "items") if options[side] is not None}
    if not files:
        return model
    if not hasattr(model, "fold_in"):
        raise DataError(f"{path} holds a {type(model).__name__}, which knows no attributes.")
    doing(f"Reading {' and '.join(files.values())}")
    return model.update(**files)


newcomer_options = attribute_options(
    "New users by their attributes, in columns that the model was fitted with.", "New items by theirs."
)


def known_id(names: Vocabulary, text: str, what: str, unknown: str | None = None) -> str:
    """Read an id or a title; one that the model does not know is an error that names those most like it.

    `unknown` is what the verb was told to do then, where it can be told.
    """
    from kolmogorov.errors import UnknownIdError

    found = names.parse(text)
    if unknown in (None, "error") and names.rows_of([found])[0] < 0:
        remedy = "" if unknown is None else " --unknown average uses the average instead."
        raise UnknownIdError(f"The model has no data on {what} {found!r}.{names.suggestion(text)}{remedy}")
    return found


def pair_texts(path: str, options: Reading) -> tuple[list[str], list[str]]:
    """Read pairs as texts, whatever they are in."""
    from kolmogorov.data import Observations
    from kolmogorov.data.packed import is_table
    from kolmogorov.data.read import read_pairs

    if is_table(path):
        table = Observations.open(path)
        return table.users.ids[table.user_rows()].tolist(), table.items.ids[table.item_rows()].tolist()
    return read_pairs(path, options)
