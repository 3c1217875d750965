"""The tables themselves: bundled ones, whose sources and licences are beside their files, and generated ones."""

from __future__ import annotations

import csv
import lzma
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import generator
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import NONE, Requirement, check_parameters, integer, real
from kolmogorov.data.observations import Observations
from kolmogorov.data.options import Reading
from kolmogorov.data.provenance import Provenance, TableLayout
from kolmogorov.data.vocabulary import Vocabulary

#: Who made a table, and under which licence it is given on; the page of a model says it.
CREDITS = {
    "zoo": "Richard S. Forsyth, Zoo, UCI Machine Learning Repository, 1990, https://doi.org/10.24432/C5R59V. "
    "Licence: CC BY 4.0.",
    "un-votes": "Erik Voeten, Anton Strezhnev and Michael Bailey, United Nations General Assembly Voting Data, Harvard "
    "Dataverse, https://doi.org/10.7910/DVN/LEJUQZ. Licence: CC0 1.0.",
    "food": "FiveThirtyEight, The FiveThirtyEight International Food Association's 2014 World Cup, "
    "https://github.com/fivethirtyeight/data/tree/master/food-world-cup. Licence: CC BY 4.0.",
    "ml-100k": "F. Maxwell Harper and Joseph A. Konstan, The MovieLens Datasets, ACM Transactions on Interactive "
    "Intelligent Systems 5(4), 2015, https://doi.org/10.1145/2827872. It may not be passed on.",
}
CREDITS["ml-1m"] = CREDITS["ml-100k"]

#: Columns of the zoo and of the survey on food that are no items.
_NOT_YES_OR_NO = ("animal", "legs", "type")
_ABOUT_PEOPLE = ("respondent", "knowledge", "interest", "gender", "age", "income", "education", "region")
_RATINGS = {"n": 0.0, "a": 0.5, "y": 1.0}
_LAYOUT = TableLayout("arrays", {})
_WORDS = {"yes": 1.0, "abstain": 0.5, "no": 0.0}


def load_zoo() -> Observations:
    """Return 101 animals (users) × 15 traits (items), each 0 or 1: UCI's Zoo.

    Examples
    --------
    >>> load_zoo().items.ids.tolist()[:4]
    ['airborne', 'aquatic', 'backbone', 'breathes']
    """
    header, *animals = _rows_of("zoo.csv")
    traits = [column for column, name in enumerate(header) if name not in _NOT_YES_OR_NO]
    cells = [(row[header.index("animal")], header[column], float(row[column])) for row in animals for column in traits]
    users, items, values = zip(*cells, strict=True)
    return Observations.from_arrays(users, items, values, maximum=1)


def load_food() -> Observations:
    """Return how much respondents (users) like the cuisines of 40 countries (items), from 1 (hate) to 5 (love).

    Of 1,373 respondents 97 knew none of them.

    Examples
    --------
    >>> load_food()
    Observations: 23,943 of 1,276 users × 40 items (46.9% observed), p = r / 5
    """
    header, *people = _rows_of("food.csv.xz")
    cuisines = [column for column, name in enumerate(header) if name not in _ABOUT_PEOPLE]
    cells = [(row[0], header[column], float(row[column])) for row in people for column in cuisines if row[column]]
    users, items, ratings = zip(*cells, strict=True)
    return Observations.from_arrays(users, items, ratings, maximum=5)


def load_un_votes(since: int = 2000) -> Observations:
    """Return votes of 193 countries (users) on 1,862 motions (items): yes is 1, abstain 0.5 and no 0.

    Motions without a title on record go by their ids.

    Parameters
    ----------
    since : int
        First year of the motions.

    Examples
    --------
    >>> votes = load_un_votes(since=2015)
    >>> votes.n_users, votes.n_items, votes.items.name(2)
    (193, 507, 'Basic Principles on Sovereign Debt Restructuring Processes (2015)')
    """
    countries, motions, cells = _un_table(since)
    rows, columns = np.nonzero(cells != "-")
    ratings = [_RATINGS[letter] for letter in cells[rows, columns]]
    names = [motion for motion, *_ in motions]
    votes = Observations.from_arrays(countries[columns], np.array(names)[rows], ratings, maximum=1)
    worded = Observations(votes.users, votes.items, votes.rows, votes.scale, Provenance(_LAYOUT, words=_WORDS))
    return worded.with_titles(items={motion: title or motion for motion, _, title, _ in motions})


def _un_table(since: int) -> tuple[NDArray[Any], list[list[str]], NDArray[Any]]:
    """Return the countries, the motions, and the letters of both, a row for each motion."""
    header, *motions = _rows_of("un-votes.csv.xz")
    motions = [row for row in motions if int(row[1][:4]) >= since]
    return np.array(header[3].split("|")), motions, np.array([list(row[3]) for row in motions])


def load_digits() -> Observations:
    """Return 1,797 images (users) × 64 pixels (items), value = ink / 16. Pixel r * 8 + c is at row r, column c."""
    from sklearn.datasets import load_digits as load

    return Observations.from_dense(load().data, maximum=16)


@dataclass(frozen=True, eq=False)
class Planted:
    """A sampled table with the truth it was sampled from.

    Attributes
    ----------
    observations : Observations
    theta : float64[n_users, D]
    psi : bool[n_items, D]
        Whether an item happens in an event.
    """

    observations: Observations
    theta: Floats
    psi: NDArray[np.bool_]


def load_toy(random_state: Any = 0) -> Observations:
    """Return the paper's D1: 20 users × 40 items, uniform on [0, 1], nothing to be learned."""
    return Observations.from_dense(generator(random_state).random((20, 40)), maximum=1)


def planted(
    n_users: int = 200,
    n_items: int = 100,
    n_events: int = 4,
    n_observations: int | None = None,
    noise: float = 0.0,
    binary: bool = False,
    concentration: float = 0.5,
    random_state: Any = 0,
) -> Planted:
    """Sample a Kolmogorov model and observations of it.

    Parameters
    ----------
    n_users, n_items, n_events : int
    n_observations : int, optional
        As many distinct cells are observed; all cells by default.
    noise : float
        Standard deviation of the Gaussian added to each probability, which is then clipped to [0, 1].
    binary : bool
        Observe coin flips with the model's probabilities instead of the probabilities.
    concentration : float
        Of the Dirichlet distribution of theta; small values give users of few events.
    random_state : int or Generator

    Examples
    --------
    >>> truth = planted(n_users=30, n_items=20, n_events=3)
    >>> bool(np.allclose(truth.theta @ truth.psi.T, truth.observations.values.reshape(30, 20)))
    True
    """
    values = {
        "n_users": n_users,
        "n_items": n_items,
        "n_events": n_events,
        "noise": noise,
        "concentration": concentration,
        "n_observations": n_observations,
    }
    rules: dict[str, Requirement] = dict.fromkeys(("n_users", "n_items", "n_events"), integer(1))
    rules |= {"noise": real(0.0), "concentration": real(1e-6), "n_observations": integer(1) | NONE}
    check_parameters("planted", values, rules)
    rng = generator(random_state)
    theta = rng.dirichlet(np.full(n_events, concentration), size=n_users)
    psi = rng.random((n_items, n_events)) < 0.5
    chosen = _cells(rng, n_users * n_items, n_observations)
    users, items = np.divmod(chosen, n_items)
    probabilities = _products(theta, psi.astype(np.float64), users, items)
    if binary:
        probabilities = (rng.random(chosen.size) < probabilities).astype(np.float64)
    elif noise:
        probabilities = np.clip(probabilities + noise * rng.standard_normal(chosen.size), 0.0, 1.0)
    everybody, everything = Vocabulary.range(n_users), Vocabulary.range(n_items)
    ratings = np.clip(probabilities, 0, 1)
    observed = Observations.of_rows(everybody, users, everything, items, ratings, Reading(maximum=1))
    return Planted(observed, theta, psi)


def _cells(rng: np.random.Generator, cells: int, wanted: int | None) -> NDArray[np.int64]:
    """Choose distinct cells at random, in increasing order, without a list of all cells where they are many."""
    if wanted is None or wanted >= cells:
        return np.arange(cells)
    if wanted > cells // 4:
        return np.sort(rng.permutation(cells)[:wanted])
    chosen = np.unique(rng.integers(cells, size=wanted))
    while chosen.size < wanted:
        chosen = np.unique(np.concatenate([chosen, rng.integers(cells, size=wanted - chosen.size)]))
    return chosen


def _products(theta: Floats, psi: Floats, users: NDArray[Any], items: NDArray[Any]) -> Floats:
    """Return theta_u . psi_i per cell in blocks, so that ten million cells need no large temporary."""
    out = np.empty(users.size)
    for first in range(0, users.size, 1 << 18):
        part = slice(first, first + (1 << 18))
        out[part] = np.einsum("nd,nd->n", theta[users[part]], psi[items[part]])
    return out


def _rows_of(name: str) -> list[list[str]]:
    """Return the rows of a bundled file, its header first; compressed where the name ends in .xz."""
    data = files("kolmogorov.data.datasets").joinpath("files", name).read_bytes()
    text = (lzma.decompress(data) if name.endswith(".xz") else data).decode("utf-8")
    return list(csv.reader(text.splitlines()))
