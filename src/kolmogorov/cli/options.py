"""Options that several verbs share, and how their values become observations and models."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from kolmogorov.data import Observations, Scale

F = TypeVar("F", bound=Callable[..., Any])
_DATASET = "dataset:"
LAYOUT = ("user", "item", "value", "weight", "sep", "header", "encoding", "duplicates")
SCALE = ("minimum", "maximum", "scaling")
_DEFAULTS = {"sep": "auto", "encoding": "utf-8", "duplicates": "error", "scaling": "max"}


def _column(text: str | None) -> str | int | None:
    return int(text) if text is not None and text.isdigit() else text


def reading_options(function: F) -> F:
    """Add the options of `read_ratings` that concern the file's layout."""
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
                help="What to do with a pair that stands there twice.",
            ),
        ]
    ):
        function = option(function)
    return function


def scale_options(function: F) -> F:
    """Add the options of `read_ratings` that concern the scale."""
    for option in reversed(
        [
            click.option("--maximum", type=float, help="Rating that means probability 1.  [default: largest seen]"),
            click.option("--minimum", type=float, help="Rating that means probability 0, with minmax."),
            click.option(
                "--scaling",
                type=click.Choice(["max", "minmax"]),
                default="max",
                show_default=True,
                help="p = r / maximum, or p = (r - minimum) / (maximum - minimum).",
            ),
        ]
    ):
        function = option(function)
    return function


def format_options(function: F) -> F:
    """Add --format and --output."""
    form = click.option(
        "--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True
    )
    output = click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write to a file (csv or json).")
    return form(output(function))


def read_input(path: str, layout: dict[str, Any], *, from_model: bool = False, **scale: Any) -> Observations:
    """Read a ratings file, map a packed table, or load a named dataset given as dataset:NAME."""
    from kolmogorov.data.packed import open_table
    from kolmogorov.data.tablefile import is_table

    if path.startswith(_DATASET) or is_table(path):
        given = [name for name, value in {**layout, **scale}.items() if value != _DEFAULTS.get(name)]
        if given and not from_model:
            raise click.UsageError(f"{path} has its own layout and scale; drop the options for {', '.join(given)}.")
        if not path.startswith(_DATASET):
            return open_table(path)
        from kolmogorov.data import datasets

        return datasets.load(path.removeprefix(_DATASET))
    from kolmogorov.data import read_ratings

    return read_ratings(path, **reading_settings(layout), **scale)


def reading_settings(layout: dict[str, Any]) -> dict[str, Any]:
    """Turn the options about a file's layout into arguments of `read_ratings` and `pack`."""
    columns: dict[str, Any] = {name: _column(layout[name]) for name in ("user", "item", "value", "weight")}
    rest = {name: layout[name] for name in ("sep", "encoding", "duplicates")}
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


def refuse_given(names: Iterable[str], why: str) -> None:
    """Refuse options of the command that would be ignored."""
    context = click.get_current_context()
    flags = {option.name: option.opts[0] for option in context.command.params}
    source = click.core.ParameterSource.COMMANDLINE
    given = [flags[name] for name in names if context.get_parameter_source(name) is source]
    if given:
        raise click.UsageError(f"{', '.join(given)}: {why}.")


def averaged(model: Any) -> Any:
    """Return the ordinary model that a verb can read: of draws, their average."""
    return model.as_model() if hasattr(model, "as_model") else model
