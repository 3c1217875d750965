"""Tables made of random numbers: the paper's toy, and tables sampled from a known model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import generator
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import Integer, Optional, Real, Requirement, check_parameters
from kolmogorov.data.ids.vocabulary import Vocabulary
from kolmogorov.data.reading.gathering import coded
from kolmogorov.data.reading.options import ReadingOptions
from kolmogorov.data.table.observations import Observations


@dataclass(frozen=True, eq=False)
class Planted:
    """A sampled table with the truth it was sampled from.

    Attributes
    ----------
    observations : Observations
    theta : float64[n_users, D]
    psi : bool or float64[n_items, D]
        Whether an item happens in an event, or its value there, on the scale from 0 to 1.
    events : tuple of str
        What the events are called, where they have names.
    groups : mapping of str to array[n_users]
        What is known of each user, such as a party.
    """

    observations: Observations
    theta: Floats
    psi: NDArray[Any]
    events: tuple[str, ...] = ()
    groups: Mapping[str, NDArray[Any]] = field(default_factory=dict)


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
    rules: dict[str, Requirement] = dict.fromkeys(("n_users", "n_items", "n_events"), Integer(1))
    rules |= {"noise": Real(0.0), "concentration": Real(1e-6), "n_observations": Optional(Integer(1))}
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
    observed = coded(everybody, users, everything, items, np.clip(probabilities, 0, 1), ReadingOptions(maximum=1))
    return Planted(Observations(*observed), theta, psi)


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
