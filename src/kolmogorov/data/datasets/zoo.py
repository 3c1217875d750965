"""UCI's Zoo: which animal has which trait. Bundled; its source and licence are beside the file."""

from __future__ import annotations

import csv
from importlib.resources import files

from kolmogorov.data.table.observations import Observations

_NOT_YES_OR_NO = ("animal", "legs", "type")


def load_zoo() -> Observations:
    """Return 101 animals (users) × 15 traits (items), each 0 or 1.

    Examples
    --------
    >>> load_zoo().items.ids.tolist()[:4]
    ['airborne', 'aquatic', 'backbone', 'breathes']
    """
    text = files("kolmogorov.data.datasets").joinpath("files/zoo.csv").read_text(encoding="utf-8")
    animals = list(csv.DictReader(text.splitlines()))
    traits = [name for name in animals[0] if name not in _NOT_YES_OR_NO]
    cells = [(animal["animal"], trait, float(animal[trait])) for animal in animals for trait in traits]
    users, items, values = zip(*cells, strict=True)
    return Observations.from_arrays(users, items, values, maximum=1)
