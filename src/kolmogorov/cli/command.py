"""What all verbs have in common: outputs are checked first, and errors name the verb's own options."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import click

from kolmogorov._support.progress import is_silent, say
from kolmogorov.cli.errors import in_one_sentence
from kolmogorov.cli.file_parameters import check_targets

F = TypeVar("F", bound=Callable[..., Any])
#: Names in the library of what a verb calls otherwise.
_IN_THE_LIBRARY = {
    "events": "n_events",
    "seed": "random_state",
    "jobs": "n_jobs",
    "chains": "n_chains",
    "samples": "n_samples",
    "top": "n",
    "only_yes": "unobserved",
    "folds": "k",
}
_FORCE = "kolmogorov.force"
_SAFE_CELLS = "kolmogorov.safe_cells"
_TIMER = "kolmogorov.timer"
#: Seconds of silence after which a verb says what it is doing, and the variable that says otherwise.
_PATIENCE, PATIENCE_VARIABLE = 2.0, "KOLMOGOROV_PATIENCE"


class Verb(click.Command):
    """A command whose outputs are checked before it begins, and whose errors speak of its options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read what is written behind the verb; a word too many may be meant for an option."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            flags = {flag for parameter in self.params for flag in parameter.opts}
            likely = [flag for flag in ("--data", "--user", "--item") if flag in flags]
            if "unexpected extra argument" in error.message and likely:
                error.message = f"{error.message.rstrip('.')}. Did you mean it for {' or '.join(likely)}?"  # type: ignore[misc]
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        from kolmogorov._support.files import replacing_read_only

        with replacing_read_only(bool(ctx.meta.get(_FORCE))), in_one_sentence(flags_of(self)):
            _check_safe_cells(ctx)
            check_targets(ctx)
            doing("Loading libraries")
            try:
                return super().invoke(ctx)
            finally:
                doing(None)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help of the options, those of a group under its title."""
        groups: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                groups.setdefault(getattr(parameter, "group", "Options"), []).append(record)
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)


def grouped(title: str, *options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Return a decorator that adds options, in this order, which the help lists under a title of their own."""

    def add(function: F) -> F:
        for option in reversed(options):
            function = option(function)
            function.__click_params__[-1].group = title  # type: ignore[attr-defined]
        return function

    return add


def doing(words: str | None) -> None:
    """Note what the running verb does from here on: it is said on standard error if it takes more than two seconds."""
    context = click.get_current_context(silent=True)
    if context is None:
        return
    if _TIMER in context.meta:
        context.meta.pop(_TIMER).cancel()
    if words is not None:
        seconds = float(os.environ.get(PATIENCE_VARIABLE, _PATIENCE))
        timer = context.meta[_TIMER] = threading.Timer(seconds, _tell, [words])
        timer.daemon = True
        timer.start()


def _tell(words: str) -> None:
    if not is_silent():
        say(f"{words} ...")


def _check_safe_cells(context: click.Context) -> None:
    """Refuse --safe-cells where nothing would come of it."""
    chosen = chosen_format(context.params.get("form", "csv"), context.params.get("output"))
    if context.meta.get(_SAFE_CELLS) and chosen != "csv":
        raise click.UsageError(f"--safe-cells works only with CSV, but the output is {chosen}. Add --format csv.")


def flags_of(command: click.Command) -> dict[str, str]:
    """Map the parameters of the library that a verb has options for to these options."""
    flags: dict[str, str] = {}
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.name:
            flag = max(parameter.opts, key=len)
            flags[parameter.name] = flag
            if parameter.secondary_opts:
                flags[f"no {parameter.name}"] = parameter.secondary_opts[0]
            flags[_IN_THE_LIBRARY.get(parameter.name, parameter.name)] = flag
    return flags


def _remember(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    context.meta[f"kolmogorov.{parameter.name}"] = value


def force_option(function: F) -> F:
    """Add --force, which lets a read-only file be replaced."""
    return click.option(
        "--force",
        is_flag=True,
        expose_value=False,
        callback=_remember,
        help="Replace the output even if it is read-only.",
    )(function)


def safe_cells_option(function: F) -> F:
    """Add --safe-cells, for CSV that is going to be opened in a spreadsheet."""
    return click.option(
        "--safe-cells",
        is_flag=True,
        expose_value=False,
        callback=_remember,
        help="In CSV, put ' before cells that a spreadsheet would run as a formula.",
    )(function)


def chosen_format(form: str, output: str | None) -> str:
    """Return what is written: into a file, "table" becomes csv, or json where the file is called so."""
    if form != "table" or output is None:
        return form
    return "json" if output.lower().endswith(".json") else "csv"


def wants_safe_cells() -> bool:
    """Tell whether the running verb was given --safe-cells."""
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(_SAFE_CELLS))
