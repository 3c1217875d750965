"""Files of attributes of users and items: the options that name them, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kolmogorov.cli.command import doing, grouped
from kolmogorov.cli.file_parameters import Input
from kolmogorov.cli.options import refuse_given

if TYPE_CHECKING:
    from kolmogorov.data.attributes.reading import Attributes
    from kolmogorov.data.attributes.sheets import Side

F = TypeVar("F", bound=Callable[..., Any])


def attribute_options(users: str, items: str) -> Callable[[F], F]:
    """Return a decorator that adds --users and --items, each with its help."""
    return grouped(
        "Attributes (CSV or parquet files, one row for each id)",
        click.option("--users", type=Input(), metavar="FILE", help=users),
        click.option("--items", type=Input(), metavar="FILE", help=items),
    )


def read_attribute_files(table: Any, options: dict[str, Any], say: Any) -> dict[str, Attributes]:
    """Read what --users and --items name beside a table, and say what was understood."""
    from kolmogorov.data import Observations
    from kolmogorov.data.attributes.reading import read_attributes

    if options["only_yes"]:
        refuse_given(("users", "items"), "does not go with --only-yes: attributes are for draws, and there are none")
    if not isinstance(table, Observations):
        refuse_given(("users", "items"), "does not go with parquet files that a cluster reads")
    found: dict[str, Attributes] = {}
    sides: tuple[Side, ...] = ("users", "items")
    for side in sides:
        if options[side] is not None:
            doing(f"Reading {options[side]}")
            found[side] = read_attributes(options[side], getattr(table, side), side, tell=False)
            say.print("\n".join(found[side].lines(side)))
    return found


def with_newcomers(model: Any, path: str, options: dict[str, Any]) -> Any:
    """Introduce to a model, read from `path`, whom and what --users and --items name."""
    from kolmogorov.errors import DataError

    files = {side: options[side] for side in ("users", "items") if options[side] is not None}
    if not files:
        return model
    if not hasattr(model, "introduce"):
        raise DataError(f"{path} holds a {type(model).__name__}, which knows no attributes.")
    doing(f"Reading {' and '.join(files.values())}")
    return model.introduce(**files)


newcomer_options = attribute_options(
    "New users by their attributes, in columns that the model was fitted with.", "New items by theirs."
)
