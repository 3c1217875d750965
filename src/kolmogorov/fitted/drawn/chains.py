"""Where the chains ended that a model was learned from: an update goes on from there. Nothing in it predicts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.invariants import (
    LARGEST_NUMBER,
    LEAST_NUMBER,
    check_among,
    check_array,
    check_between,
    check_simplex,
)
from kolmogorov._support.nearest import nearest
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.errors import InvariantError
from kolmogorov.fitted.files import StoredParts, check_levels
from kolmogorov.fitted.fixed_point import on_grid, packed_thetas, unpacked_thetas

#: Numbers of the priors that chains of ratings have.
PRIORS = ("concentration", "noise", "noise_shape")
_NAME = "chains_"


@dataclass(frozen=True, eq=False)
class Chains:
    """The last draw of each of some chains of ratings, in which noise is normal."""

    #: [n_chains, n_users, E], on the grid of `fixed_point`; E is a number of events of its own.
    theta: NDArray[np.float32]
    #: [n_chains, n_items, E], on the levels.
    psi: NDArray[np.float32]
    #: [n_chains, n_users]
    noise: NDArray[np.float32]
    levels: Floats
    #: [n_chains] each.
    priors: dict[str, Floats]

    @property
    def n_events(self) -> int:
        """Number of elementary events of a draw."""
        return self.theta.shape[-1]

    @property
    def n_bytes(self) -> int:
        """What they take in memory."""
        return self.theta.nbytes + self.psi.nbytes + self.noise.nbytes

    def carried(self, users: Rows, items: Rows) -> Self:
        """Return the same over other rows, given the row before of each; -1 is new, and an average one."""
        theta, psi = self.theta[:, np.maximum(users, 0)], self.psi[:, np.maximum(items, 0)]
        noise = self.noise[:, np.maximum(users, 0)]
        if (users < 0).any():
            theta[:, users < 0] = on_grid(self.theta.mean(axis=1, dtype=np.float64))[:, None]
            noise[:, users < 0] = self.noise.mean(axis=1, keepdims=True)
        if (items < 0).any():
            middle = nearest(self.psi.mean(axis=1, dtype=np.float64), self.levels)
            psi[:, items < 0] = self.levels[middle].astype(np.float32)[:, None]
        return replace(self, theta=theta, psi=psi, noise=noise)

    # --- files --------------------------------------------------------------------------------------------------------

    def stored(self) -> dict[str, NDArray[Any]]:
        """Return arrays for the file of a model."""
        return {
            f"{_NAME}theta": packed_thetas(self.theta),
            f"{_NAME}psi": nearest(self.psi, self.levels),
            f"{_NAME}noise": self.noise,
            f"{_NAME}levels": self.levels,
            **{f"{_NAME}prior_{name}": self.priors[name] for name in PRIORS},
        }

    @classmethod
    def restored(cls, parts: StoredParts) -> Self | None:
        """Undo `stored`; None where a file has nothing of it."""
        if not any(name.startswith(_NAME) for name in parts.arrays):
            return None
        levels = parts.array(f"{_NAME}levels", 1, "float64")
        check_levels(levels)
        return cls(
            unpacked_thetas(parts.array(f"{_NAME}theta", 3, "uint16")),
            parts.on_levels(f"{_NAME}psi", 3, levels).astype(np.float32),
            parts.array(f"{_NAME}noise", 2, "float32"),
            levels,
            {name: parts.array(f"{_NAME}prior_{name}", 1, "float64") for name in PRIORS},
        )

    def validate(self, n_users: int, n_items: int) -> None:
        """Raise `InvariantError` where no chains of such a table end like this."""
        n_chains, size = (self.theta.shape[0], self.theta.shape[-1]) if self.theta.ndim == 3 else (0, 0)
        if n_chains < 1 or size < 1:
            raise InvariantError("there must be a chain, and its draw must have events")
        check_array("a chain's theta", self.theta, np.float32, (n_chains, n_users, size))
        check_array("a chain's psi", self.psi, np.float32, (n_chains, n_items, size))
        check_array("a chain's noise", self.noise, np.float32, (n_chains, n_users))
        check_simplex("a chain's theta", self.theta)
        check_among("a chain's psi", self.psi, self.levels.astype(np.float32))
        check_between("a chain's noise", self.noise, LEAST_NUMBER, LARGEST_NUMBER)
        for name in PRIORS:
            check_array(f"a chain's {name}", self.priors[name], np.float64, (n_chains,))
            check_between(f"a chain's {name}", self.priors[name], LEAST_NUMBER, LARGEST_NUMBER)
