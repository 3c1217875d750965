"""The command line: one file per verb, imported when the verb is used."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click

from kolmogorov.errors import KolmogorovError

_VERBS = (
    "demo",
    "fit",
    "predict",
    "recommend",
    "explain",
    "rules",
    "report",
    "evaluate",
    "tune",
    "solve",
    "paper",
    "data",
    "doctor",
)
_INTERRUPTED = 130


class _Verbs(click.Group):
    """Finds a verb in the module of its name, and turns our errors into one sentence and status 1."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _VERBS:
            return None
        command: click.Command = import_module(f"kolmogorov.cli.{cmd_name}").command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KolmogorovError as error:
            raise click.ClickException(str(error)) from None
        except BrokenPipeError:
            raise
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            raise click.ClickException(f"{place}{error.strerror or error}.") from None
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            sys.exit(_INTERRUPTED)


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="kolmogorov")
def main() -> None:
    """Complete a table of yes/no quantities with probabilities, and explain them.

    \b
    Examples:
      kolmogorov demo
      kolmogorov fit ratings.csv --events 8 -o model.km
      kolmogorov recommend model.km --user 196
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


__all__ = ["main"]
