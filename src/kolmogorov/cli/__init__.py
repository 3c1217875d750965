"""The command line: verbs are in `learn`, `ask`, `around`; what these share is in `shell`, `options`, `display`."""

from __future__ import annotations

import click

from kolmogorov._version import __version__
from kolmogorov.cli import around, ask, learn
from kolmogorov.cli.shell import Verbs


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Complete a table of yes/no quantities with probabilities, and explain them.

    \b
    Examples:
      kolmogorov demo
      kolmogorov fit ratings.csv --n-events 8 -o model.km
      kolmogorov recommend model.km 196
    """


_VERBS = [around.demo, learn.fit, learn.update, ask.predict, ask.recommend, ask.explain, ask.rules, ask.report]
for _verb in [*_VERBS, ask.evaluate, learn.tune, around.data, around.serve, around.doctor]:
    main.add_command(_verb)

__all__ = ["main"]
