"""Planted polls: people of known groups, whose every answer comes from an event drawn for it."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import generator
from kolmogorov._support.typing import Floats
from kolmogorov.data.datasets.synthetic import Planted
from kolmogorov.data.ids.vocabulary import Vocabulary
from kolmogorov.data.reading.gathering import coded
from kolmogorov.data.reading.options import ReadingOptions
from kolmogorov.data.table.observations import Observations


@dataclass(frozen=True)
class Poll:
    """What a poll is drawn from."""

    #: What groups and places are called, such as ("party", "region").
    kinds: tuple[str, str]
    #: The size of each group, and how much its people lean towards each event.
    groups: Mapping[str, tuple[int, tuple[float, ...]]]
    #: By how much each place raises that leaning. People live in one after the other.
    places: Mapping[str, tuple[float, ...]]
    #: Of the Dirichlet distribution of theta around the leaning.
    concentration: float
    #: Share of answers that are missing.
    silent: float
    #: Makes answers, in rating units, of a generator and the values of items in the events that were drawn.
    answer: Callable[[np.random.Generator, Floats], Floats]
    #: Of the answers.
    scale: ReadingOptions

    def draw(self, questions: list[str], psi: NDArray[Any], events: tuple[str, ...], random_state: Any) -> Planted:
        """Draw people and their answers to questions that have the values `psi` in the events."""
        rng = generator(random_state)
        group = np.repeat(np.arange(len(self.groups)), [size for size, _ in self.groups.values()])
        place = np.arange(group.size) % len(self.places)
        leaning = np.array([lean for _, lean in self.groups.values()])[group] + np.array([*self.places.values()])[place]
        theta = np.array([rng.dirichlet(self.concentration * row / row.sum()) for row in leaning])
        users, items = np.nonzero(rng.random((group.size, len(questions))) >= self.silent)
        below = np.cumsum(theta[:, :-1], axis=1)[users]
        event = (rng.random((users.size, 1)) >= below).sum(axis=1)
        answers = self.answer(rng, psi[items, event].astype(np.float64))
        whence = (np.array([*self.groups], dtype=object)[group], np.array([*self.places], dtype=object)[place])
        people, asked = (Vocabulary(np.array(ids, dtype=object)) for ids in (_ids(*whence), questions))
        table = coded(people, users, asked, items, answers, self.scale)
        return Planted(Observations(*table), theta, psi, events, dict(zip(self.kinds, whence, strict=True)))


def read_truth(name: str) -> list[dict[str, str]]:
    """Return the rows of the bundled file that says what is planted."""
    text = files("kolmogorov.data.datasets").joinpath(f"files/{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def _ids(groups: NDArray[Any], places: NDArray[Any]) -> list[str]:
    """Call people by group and place, counted there: green-coast-3."""
    met: dict[str, int] = {}
    ids = []
    for group, place in zip(groups, places, strict=True):
        whence = f"{group}-{place}".lower()
        met[whence] = met.get(whence, 0) + 1
        ids.append(f"{whence}-{met[whence]}")
    return ids
