"""The command line: what verbs share is in `shell`, `options`, `display`; each verb is a file, imported when used."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from kolmogorov._version import __version__
from kolmogorov.cli.shell import in_one_sentence, orderly_signals, plain_warnings, prepare_streams

_VERBS = [
    *("demo", "fit", "update", "predict", "recommend", "explain"),
    *("rules", "report", "serve", "evaluate", "tune", "data", "doctor"),
]


class _Verbs(click.Group):
    """Finds a verb in the module of its name, and ends every mistake with one sentence and a status."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return _VERBS

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _VERBS:
            return None
        command: click.Command = import_module(f"kolmogorov.cli.verbs.{cmd_name}").command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the verb; a misspelled one is an error that names the nearest."""
        if args and args[0] not in _VERBS and not args[0].startswith("-") and not ctx.resilient_parsing:
            near = get_close_matches(args[0], _VERBS, 1)
            ctx.fail(f"No such command {args[0]!r}.{f' Did you mean {near[0]!r}?' if near else ''}")
        return super().resolve_command(ctx, args)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        prepare_streams()
        with in_one_sentence():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with orderly_signals(), plain_warnings(), in_one_sentence():
            return super().invoke(ctx)


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Complete a table of yes/no quantities with probabilities, and explain them.

    \b
    Examples:
      kolmogorov demo
      kolmogorov fit ratings.csv --events 8 -o model.km
      kolmogorov recommend model.km 196
    """


__all__ = ["main"]
