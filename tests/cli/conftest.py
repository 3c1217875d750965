"""A ratings file, a model fitted to it, and all verbs there are."""

import click
import numpy as np
import pytest
from click.testing import CliRunner

from kolmogorov.cli import main

SHORT = ("--set", "n_chains=2", "--set", "burn_in=10", "--set", "n_samples=4", "--n-events", 3)
FAST = ("--n-events", 2, "--set", "max_iter=2", "--learn-from", "ratings")


def every_verb(command=main, names=()):
    """Yield the words that call a verb, and its command, for each."""
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from every_verb(inner, (*names, name))
    else:
        yield names, command


@pytest.fixture(scope="session")
def shell():
    """Run the tool in this process."""

    def run(*arguments, stdin=None, env=None):
        return CliRunner(env=env).invoke(main, [str(a) for a in arguments], input=stdin)

    return run


@pytest.fixture(scope="session")
def done(shell):
    """Run the tool, which has to end well."""

    def run(*arguments, **options):
        result = shell(*arguments, **options)
        assert result.exit_code == 0, result.output
        return result

    return run


@pytest.fixture(scope="session")
def zoo_files(done, tmp_path_factory):
    """Return a ratings file and a model; tests must leave them as they are."""
    folder = tmp_path_factory.mktemp("zoo")
    ratings, model = folder / "zoo.csv", folder / "zoo.km"
    done("data", "export", "zoo", "-o", ratings)
    done("fit", ratings, "--point", "--n-events", 3, "--test-size", 0.2, "-q", "-o", model)
    return ratings, model


@pytest.fixture
def copies(zoo_files, tmp_path):
    """Return a ratings file and a model that a test may lose."""
    found = [tmp_path / path.name for path in zoo_files]
    for path, copy in zip(zoo_files, found, strict=True):
        copy.write_bytes(path.read_bytes())
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


@pytest.fixture(scope="session")
def drawn(done, stars):
    """Return a model of draws of the ratings from 1 to 5."""
    path = stars.with_name("drawn.km")
    assert "coverage_90" in done("fit", stars, *SHORT, "--test-size", 0.2, "-o", path).output
    return path
