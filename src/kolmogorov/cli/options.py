"""Options that several verbs share, and how their values become observations and models."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kolmogorov.cli.command import flags_of, force_option, safe_cells_option
from kolmogorov.cli.file_parameters import DATASET, Input, Output

if TYPE_CHECKING:
    from kolmogorov.data import Observations, Scale, Vocabulary

F = TypeVar("F", bound=Callable[..., Any])
#: Names that are looked through for one like another; beyond, people would wait.
_MOST_COMPARED = 200_000
_COLUMNS = ("user", "item", "value", "weight")
_VALUES = ("wide", "map", "missing", "decimal", "thousands")
LAYOUT = (*_COLUMNS, "sep", "header", "encoding", "duplicates", *_VALUES, "titles")
#: Those of them that tables in a cluster have, too.
DISTRIBUTED = (*_COLUMNS, "duplicates", "map", "missing", "decimal", "thousands")
SCALE = ("minimum", "maximum", "scaling")
_DEFAULTS = {
    "sep": "auto",
    "encoding": "utf-8",
    "duplicates": "error",
    "scaling": "auto",
    "wide": False,
    "missing": (),
    "decimal": "auto",
}


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


class LevelsOption(click.ParamType):  # type: ignore[type-arg]
    """What items may be in events: 2, chances, auto, or numbers separated by commas."""

    name = "levels"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read 2, a word or a grid."""
        from kolmogorov.data.table.levels import LevelsRequirement

        if not isinstance(value, str):
            return value
        try:
            found: Any = value if value in ("auto", "chances") else [float(part) for part in value.split(",")]
        except ValueError:
            found = []
        if found == [2.0]:
            return 2
        if not LevelsRequirement(chances=True).accepts(found):
            self.fail(
                f"expected 2, chances, auto, or increasing numbers on the probability scale separated by commas, such "
                f"as 0,0.5,1, got {value!r}.",
                param,
                ctx,
            )
        return found


#: More cannot be meant, and would not fit into the integers of compiled code.
COUNT = click.IntRange(max=1_000_000_000)
#: Equations of more events than this have no place in any memory.
EVENTS = click.IntRange(max=1_000_000)
JOBS = click.IntRange(-10_000, 10_000)


def column_of(text: str | None) -> str | int | None:
    """Read a column as typed in a shell: a number is a position."""
    return int(text) if text is not None and text.isdigit() else text


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


def titles_option(function: F) -> F:
    """Add --titles, which gives items their titles."""
    return click.option(
        "--titles",
        type=Input(),
        metavar="FILE",
        help="What the items are called: two columns, id and title, separated by commas, tabs, | or ::.",
    )(function)


def value_options(function: F) -> F:
    """Add the options of `read_ratings` that concern how values are written."""
    for option in reversed(
        [
            click.option("--wide", is_flag=True, help="One row per user, one column per item; empty is missing."),
            click.option("--map", type=Meanings(), help="What words mean, such as yes=1,abstain=0.5,no=0."),
            click.option(
                "--missing",
                multiple=True,
                metavar="MARKS",
                callback=_marks,
                help="What stands for a missing value, such as NA,99; '' for empty. May be repeated.",
            ),
            click.option(
                "--decimal",
                type=click.Choice(["auto", ".", ","]),
                default="auto",
                show_default=True,
                help="What stands before decimals.",
            ),
            click.option("--thousands", metavar="CHAR", help="What stands between thousands."),
        ]
    ):
        function = option(function)
    return function


def reading_options(function: F) -> F:
    """Add the options of `read_ratings` that concern the file's layout and how its values are written."""
    function = value_options(function)
    for option in reversed(
        [
            click.option("--user-column", "user", metavar="COL", help="User column: name, or number from 0."),
            click.option("--item-column", "item", metavar="COL", help="Item column."),
            click.option("--value-column", "value", metavar="COL", help="Column of the value or rating."),
            click.option("--weight-column", "weight", metavar="COL", help="Column of weights; none by default."),
            click.option("--sep", default="auto", show_default=True, help="Separator, 'whitespace' or 'auto'."),
            click.option("--header/--no-header", default=None, help="Whether line 1 names the columns."),
            click.option("--encoding", default="utf-8", show_default=True, help="Of the text file."),
            click.option(
                "--duplicates",
                type=click.Choice(["error", "mean", "last"]),
                default="error",
                show_default=True,
                help="What to do with duplicate ratings of a pair.",
            ),
        ]
    ):
        function = option(function)
    return function


def scale_options(function: F) -> F:
    """Add the options of `read_ratings` that concern the scale."""
    for option in reversed(
        [
            click.option("--maximum", type=Finite(), help="Rating that means probability 1.  [default: largest seen]"),
            click.option(
                "--minimum", type=Finite(), help="Rating that means probability 0.  [default: 0, or the smallest seen]"
            ),
            click.option(
                "--scaling",
                type=click.Choice(["auto", "max", "minmax"]),
                default="auto",
                show_default=True,
                help="p = r / maximum, or p = (r - minimum) / (maximum - minimum), as for negative ratings.",
            ),
        ]
    ):
        function = option(function)
    return function


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


def read_input(path: str, layout: dict[str, Any], *, from_model: bool = False, **scale: Any) -> Observations:
    """Read a ratings file, map a packed table, or load a named dataset given as dataset:NAME."""
    from kolmogorov.data import Observations
    from kolmogorov.data.packed.file import is_table

    if path.startswith(DATASET) or is_table(path):
        titles = layout.get("titles")
        given = [n for n, v in {**layout, **scale}.items() if v != _DEFAULTS.get(n) and n != "titles"]
        if given and not from_model:
            flags = flags_of(click.get_current_context().command)
            raise click.UsageError(f"{path} has its own layout and scale; drop {', '.join(flags[n] for n in given)}.")
        if not path.startswith(DATASET):
            return Observations.open(path).with_titles(items=titles)
        from kolmogorov.data import datasets

        return datasets.load(path.removeprefix(DATASET)).with_titles(items=titles)
    from kolmogorov.data import read_ratings

    return read_ratings(path, **reading_settings(layout), **scale)


def reading_settings(layout: dict[str, Any]) -> dict[str, Any]:
    """Turn the options about a file's layout into arguments of `read_ratings` and `pack`."""
    columns: dict[str, Any] = {name: column_of(layout[name]) for name in _COLUMNS}
    rest = {name: layout[name] for name in layout if name not in (*_COLUMNS, "header")}
    return {"header": "auto" if layout["header"] is None else layout["header"], **columns, **rest}


def scale_of(scale: Scale) -> dict[str, Any]:
    """Return the reading options that put new data on a model's scale."""
    if scale.minimum == 0.0:
        return {"maximum": scale.maximum}
    return {"minimum": scale.minimum, "maximum": scale.maximum, "scaling": "minmax"}


def likes_level(scale: Scale, likes: float | None) -> float:
    """Turn --likes, in rating units, into a threshold on the probability scale."""
    if likes is None:
        return 0.6
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


def known_id(names: Vocabulary, text: str, what: str, unknown: str = "error") -> Any:
    """Read an id or a title; one that the model does not know is an error that names those most like it."""
    from kolmogorov._support.wording import advice, option
    from kolmogorov.errors import UnknownIdError

    try:
        found = names.parse(text)
    except UnknownIdError as error:
        raise UnknownIdError(f"{error}{_alike(names, text)}") from None
    if unknown == "error" and names.encode([found], what)[0] < 0:
        remedy = advice("With {} it would be treated as the average one.", option("unknown", "average"))
        raise UnknownIdError(f"The model has seen no observation of {what} {found!r}.{_alike(names, text)}{remedy}")
    return found


def _alike(names: Vocabulary, text: str) -> str:
    """Return a question with the ids and titles most like a text, or nothing."""
    import difflib

    ids = map(str, names.ids.tolist()) if names.holds_strings else ()
    known = dict.fromkeys((*ids, *(() if names.labels is None else names.labels.tolist())))
    if len(known) > _MOST_COMPARED:
        return ""
    folded: dict[str, str] = {}
    for name in known:
        folded.setdefault(name.casefold(), name)
    close = difflib.get_close_matches(text.casefold(), folded, n=3)
    return f" Did you mean {' or '.join(repr(folded[name]) for name in close)}?" if close else ""
