"""A ratings file, a model fitted to it, and all verbs there are."""

import click
import numpy as np
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


@pytest.fixture(scope="session")
def stars(tmp_path_factory):
    """Return a file of ratings from 1 to 5, given by three kinds of people."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("stars") / "stars.csv"
    liked = np.arange(30)[:, None] % 3 == np.arange(12)[None, :] % 3
    rated = np.clip(np.rint(2.5 + 2.0 * liked + 0.7 * rng.normal(size=liked.shape)), 1, 5)
    lines = [f"u{u},i{i},{rated[u, i]:g}" for u in range(30) for i in range(12) if rng.random() < 0.8]
    path.write_text("user,item,rating\n" + "\n".join(lines) + "\n")
    return path


SHORT = ("--set", "n_chains=2", "--set", "burn_in=10", "--set", "n_samples=4", "--events", 3)


@pytest.fixture(scope="session")
def drawn(shell, stars):
    """Return a model of draws of the ratings from 1 to 5."""
    path = stars.with_name("drawn.km")
    fitted = shell("fit", stars, *SHORT, "--test-size", 0.2, "-o", path)
    assert fitted.exit_code == 0, fitted.output
    assert "coverage_90" in fitted.output
    return path


@pytest.fixture(scope="session")
def clicks(tmp_path_factory):
    """Return a file in which only yes is recorded."""
    rng = np.random.default_rng(0)
    games = rng.random((150, 10)) < 0.3
    users, items = np.nonzero(np.hstack([games, games & (rng.random(games.shape) < 0.6)]))
    path = tmp_path_factory.mktemp("clicks") / "clicks.csv"
    path.write_text("user,item\n" + "".join(f"u{u},i{i}\n" for u, i in zip(users, items, strict=True)))
    return path
