"""A ratings file, a model fitted to it, and all verbs there are."""

import click
import pytest
from click.testing import CliRunner

from kolmogorov.cli import main


def every_verb(command=main, names=()):
    """Yield the words that call a verb, and its command, for each."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from every_verb(command.get_command(context, name), (*names, name))
    else:
        yield names, command


@pytest.fixture(scope="session")
def shell():
    """Run the tool in this process."""

    def run(*arguments, stdin=None, env=None):
        return CliRunner(env=env).invoke(main, [str(a) for a in arguments], input=stdin)

    return run


@pytest.fixture(scope="session")
def zoo_files(shell, tmp_path_factory):
    """Return a ratings file and a model; tests must leave them as they are."""
    folder = tmp_path_factory.mktemp("zoo")
    ratings, model = folder / "zoo.csv", folder / "zoo.km"
    assert shell("data", "export", "zoo", "-o", ratings).exit_code == 0
    fitted = shell("fit", ratings, "--point", "--events", 3, "--test-size", 0.2, "-q", "-o", model)
    assert fitted.exit_code == 0, fitted.output
    return ratings, model


@pytest.fixture
def copies(zoo_files, tmp_path):
    """Return a ratings file and a model that a test may lose."""
    found = []
    for path in zoo_files:
        found.append(tmp_path / path.name)
        found[-1].write_bytes(path.read_bytes())
    return found
