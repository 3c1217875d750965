"""Options in the words of Python, each written once, and how their values become observations, models and pairs."""

from __future__ import annotations

import ast
import csv
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

import click

import kolmogorov as km
from kolmogorov.cli.shell import SETTABLE, doing

F = TypeVar("F", bound=Callable[..., Any])
DATASET = "dataset:"
FILE = click.Path()
MODEL = click.argument("model", type=click.Path(exists=True))
DATA = click.argument("data", type=FILE)


def value_of(text: str) -> Any:
    """Read a value as Python would write it; what Python does not know is a text."""
    with suppress(ValueError, SyntaxError):
        return ast.literal_eval(text.capitalize() if text.lower() in ("true", "false", "none") else text)
    return text


def _split_at_commas(text: str) -> list[str]:
    return [part.strip() for part in next(csv.reader([text]))] if text else [""]


def _named(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, Any]:
    """Read NAME=VALUE; for a grid NAME=VALUE,VALUE,..."""
    found: dict[str, Any] = {}
    for name, mark, text in (text.partition("=") for text in texts):
        if not mark:
            raise click.BadParameter(f"expected {parameter.metavar}, got {name!r}.")
        several = map(value_of, _split_at_commas(text))
        found[name.strip().replace("-", "_")] = list(several) if parameter.name == "grid" else value_of(text)
    return found


def _column(context: click.Context, parameter: click.Parameter, text: str | None) -> str | int | None:
    return int(text) if text is not None and text.isdecimal() else text


def _several(context: click.Context, parameter: click.Parameter, text: str | None) -> list[str]:
    return [] if text is None else _split_at_commas(text)


def _meanings(context: click.Context, parameter: click.Parameter, text: str | None) -> dict[str, float]:
    """Read what words mean: yes=1,abstain=0.5,no=0."""
    try:
        pairs = [part.rpartition("=") for part in ([] if text is None else text.split(","))]
        return {word.strip(): float(number) for word, _, number in pairs}
    except ValueError:
        raise click.BadParameter(f"expected words with numbers, such as yes=1,no=0, got {text!r}.") from None


def _option(help: str, **more: Any) -> dict[str, Any]:
    return {"help": help, "show_default": True, **more}


#: By the names that parameters have in Python. First how a file is read: what is asked for most of `read_ratings`.
OPTIONS = {
    "user": _option("Column of users: name, or number from 0.", metavar="COL", callback=_column),
    "item": _option("Column of items.", metavar="COL", callback=_column),
    "value": _option("Column of values or ratings.", metavar="COL", callback=_column),
    "wide": _option("One row per user, one column per item; empty is missing.", is_flag=True),
    "ignore": _option("With --wide: columns that are no items: an age.", metavar="COL,...", callback=_several),
    "implicit": _option("Every line is a yes (clicks, purchases); nobody says no.", is_flag=True),
    "map": _option("What words mean: yes=1,maybe=0.5,no=0.", metavar="WORD=NUMBER,...", callback=_meanings),
    "missing": _option("What means nothing: NA,99; '' is empty.", metavar="MARK,...", callback=_several),
    "titles": _option("What items are called: columns of ids and of titles.", type=FILE, metavar="FILE"),
    "settings": _option(
        "Any other parameter of Python's read_ratings: duplicates=mean, sep=';', scale=column.",
        multiple=True,
        metavar="NAME=VALUE",
        callback=_named,
    ),
    "maximum": _option("Rating that means probability 1.  [default: largest seen]", type=float),
    "n_events": _option("Elementary events.  [default: by the table]", type=int),
    "psi": _option("In an event an item happens or not, or with any chance.", type=click.Choice(["binary", "soft"])),
    "learn_from": _option(
        "One model: fit it to a table completed by draws, or to the ratings alone, as in the paper.",
        type=click.Choice(["draws", "ratings"]),
    ),
    "test_size": _option("Hold out this share of the ratings and measure errors on it.", type=float),
    "max_seconds": _option("After this time no other setting is tried.", type=float),
    "random_state": _option("Seed of random numbers.", default=0),
    "n_jobs": _option("Threads; -1 is all.", default=-1),
    "gpu": _option("Fit on an NVIDIA GPU. Needs the extra 'cuda'.", is_flag=True),
    "grid": _option(
        "Values of a parameter: n_events=4,8, psi=binary,soft, user_reg=10,30.  [default: n_events, by the table]",
        multiple=True,
        metavar="NAME=V,V,...",
        callback=_named,
    ),
    "folds": _option("Parts of the data that are held out in turn.", default=3),
    "users": _option("What is known of users: ages, jobs; a row for each id.", type=FILE, metavar="FILE"),
    "items": _option("What is known of items: genres, years; lists as A|B.", type=FILE, metavar="FILE"),
    "remove": _option("Pairs of a user and an item whose ratings are taken out.", type=FILE, metavar="FILE"),
    "forget": _option("A user who leaves the model with all ratings; may be repeated.", multiple=True),
    "unknown": _option(
        "What to do with ids that the model has not seen; ignore is average without a warning.",
        type=click.Choice(["error", "average", "ignore"]),
        default="error",
    ),
    "interval": _option("Also write the interval that holds a new rating with this probability.", type=float),
    "ratings": _option("Ratings of new users; the model is not refitted.", type=FILE, metavar="FILE"),
    "n": _option("How many.", default=10),
    "min_count": _option("Leave out items with fewer ratings.  [default: 5, or less if need be]", type=int),
    "include_seen": _option("Also list items that the user has already rated.", is_flag=True),
    "data": _option("Ratings to judge by; those in the training data are left out.", type=FILE, metavar="FILE"),
    "about": _option("Only rules about this item: id or title."),
    "likes": _option("Values from this on, from 0 to 1, mean yes.  [default: the upper half]", type=float),
    "max_antecedents": _option("Also rules 'A and B ⇒ C' with up to so many.", default=1),
    "basis": _option("Leave out rules that follow from the others.", is_flag=True),
    "ranking": _option("Measure lists.  [default: for models of fit --implicit]", is_flag=True),
    "k": _option("Length of the lists.", default=10),
    "title": _option("Of the page.  [default: the name of the data, or of the model's file]"),
    "nouns": _option("What a user and an item are: animal trait.", nargs=2, default=("user", "item")),
    "format": _option("What is written.", type=click.Choice(["table", "csv", "json"]), default="table"),
    "output": _option("File to write.", type=FILE),
    "quiet": _option("Print nothing but errors.", is_flag=True),
    "host": _option("Address to listen on; 0.0.0.0 is all.  [default: 127.0.0.1]"),
    "port": _option("0 for any that is free.  [default: 8000]", type=int),
    "workers": _option("Processes; each holds MODEL.  [default: 1]", type=int),
}
_FLAGS = {"settings": ["--set"], "grid": ["--try"], "n": ["-n", "--n"]}
_FLAGS |= {"output": ["-o", "--output"], "quiet": ["-q", "--quiet"]}
LAYOUT = tuple(OPTIONS)[: tuple(OPTIONS).index("maximum")]
READING = (*LAYOUT, "maximum")


def options(*names: str, **changed: Mapping[str, Any]) -> Callable[[F], F]:
    """Return a decorator that adds options of the table, some of them changed."""

    def add(function: F) -> F:
        for name in reversed(names):
            flags = _FLAGS.get(name, [f"--{name.replace('_', '-')}"])
            function = click.option(*flags, name, **(OPTIONS[name] | dict(changed.get(name, {}))))(function)
        return function

    return add


# --- what is read -----------------------------------------------------------------------------------------------------


def told(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of a verb's options that are for `read_ratings`, as far as they were given."""
    refuse_strange(given["settings"], SETTABLE)
    plain = {
        name: given[name] for name in READING if name != "settings" and given.get(name) not in (None, [], {}, False)
    }
    return plain | given["settings"]


def refuse_strange(names: Iterable[str], known: Iterable[str]) -> None:
    """Refuse names behind --set that nobody knows."""
    from kolmogorov._support.validation import suggestion

    for name in names:
        if name not in known:
            raise click.UsageError(f"--set {name}: no such parameter.{suggestion(name, known)}")


def read_input(path: str, given: Mapping[str, Any], *, like: Any = None) -> km.Observations:
    """Read a ratings file, map a packed table, or load a named dataset given as dataset:NAME.

    With what a model learned as `like`, the file is read as the one that it was learned from, and ratings are put on
    its scale.
    """
    from kolmogorov.data.packed import is_table
    from kolmogorov.data.read import read_as_told

    doing("Reading standard input" if path == "-" else f"Reading {path}")
    words = told(given)
    if path.startswith(DATASET) or is_table(path):
        layout = [name for name in words if name not in ("titles", "implicit")]
        if layout and like is None:
            raise click.UsageError(f"{path} has its own layout and scale; leave {', '.join(layout)} out.")
        data = path.removeprefix(DATASET)
        table = km.datasets.load(data) if path.startswith(DATASET) else km.Observations.open(path)
        return table.with_titles(items=words.get("titles"))
    return km.read_ratings(path, **words) if like is None else read_as_told(path, reading_like(like, words))


def reading_like(fitted: Any, words: Mapping[str, Any], **more: Any) -> Any:
    """Return how to read a file as the one that a model was learned from; what is said goes first, but of scales."""
    from kolmogorov.data.told import Reading

    low, high = fitted.scale.minimum, fitted.scale.maximum
    ends = {"maximum": high} if low == 0.0 else {"minimum": low, "maximum": high, "scaling": "minmax"}
    return Reading.of_recipe(fitted.recipe, {**words, **ends, **more})


def pair_texts(path: str, fitted: Any, given: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Read pairs of a user and an item as texts, whatever they are in; other columns are ignored."""
    from kolmogorov.data.packed import is_table
    from kolmogorov.data.read import read_pairs

    if is_table(path):
        table = km.Observations.open(path)
        return table.users.ids[table.user_rows()].tolist(), table.items.ids[table.item_rows()].tolist()
    return read_pairs(path, reading_like(fitted, told(given), wide=False, ignore=()))


def loaded(path: str, given: Mapping[str, Any]) -> Any:
    """Load a model, with new users and items of --users and --items, its items under their titles."""
    doing(f"Loading {path}")
    model = km.load(path)
    files = {side: given[side] for side in ("users", "items") if given.get(side) is not None}
    return (model.update(**files) if files else model).with_titles(items=given.get("titles"))
