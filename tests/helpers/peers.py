"""Packages of others that tests stand beside: a test that needs one skips without it, but not in `make test-peers`."""

import os
from importlib import import_module
from importlib.util import find_spec

import pytest

#: Set by `make test-peers`, whose environment has them all: a test that would skip fails.
ALL_THERE = "KOLMOGOROV_PEERS"
#: What the examples of pages need.
PAGES = {
    "harnesses.md": ("cornac", "lenskit", "mlflow", "optuna"),
    "how_sure.md": ("arviz_base", "arviz_plots", "arviz_stats"),
}


def marked(paths):
    """Return pages as parameters of a test; those that need packages of others are marked."""
    return [pytest.param(path, marks=[pytest.mark.peers] if path.name in PAGES else []) for path in paths]


def absent_of(packages):
    """Return those of some packages that are not installed."""
    return [name for name in packages if find_spec(name) is None]


def need(*packages):
    """Return the first of some packages, if any are named; skip the test where one is not installed."""
    if absent := absent_of(packages):
        said = f"{', '.join(absent)} not installed; make test-peers runs these tests"
        if os.environ.get(ALL_THERE):
            pytest.fail(f"{said}, and {ALL_THERE} is set, so that it should be there")
        pytest.skip(said)
    return import_module(packages[0]) if packages else None
