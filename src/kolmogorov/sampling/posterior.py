"""What is kept of the chains, and what it predicts."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.invariants import check_array, check_positive, check_simplex
from kolmogorov.data import Observations
from kolmogorov.errors import InvariantError
from kolmogorov.fitting.fitted import Trained
from kolmogorov.fitting.stored import Parts, StoredParts, training_arrays
from kolmogorov.kernels.mixture import draw_products, mean_products, mixture_quantile
from kolmogorov.sampling.chain import FLOOR

Floats = NDArray[np.float64]
#: Pairs times draws held at once.
_BLOCK = 1 << 22


@dataclass(frozen=True, eq=False)
class Posterior(Trained):
    """Draws of models from one or more chains.

    Attributes
    ----------
    theta : float64[n_draws, n_users, D]
    psi : bool[n_draws, n_items, D]
    noise : float64[n_draws, n_users]
        Variances on the probability scale.
    n_chains : int
        The draws are those of chain 0, then those of chain 1, ...; as many of each.
    likelihood : str
    training : Observations
        As in a fitted `KolmogorovModel`.
    priors : dict of float64[n_draws]
        Numbers of the priors by name, on which chains that have settled agree.
    """

    theta: Floats
    psi: NDArray[np.bool_]
    noise: Floats
    n_chains: int
    likelihood: str
    training: Observations
    priors: dict[str, Floats] = field(default_factory=dict)

    @property
    def n_draws(self) -> int:
        """Number of models kept."""
        return len(self.theta)

    @property
    def floor(self) -> float:
        """The chance that an answer goes against its event."""
        return FLOOR if self.likelihood == "bernoulli" else 0.0

    @cached_property
    def _theta(self) -> Floats:
        """Theta with one more row per draw, the population."""
        return np.concatenate([self.theta, self.theta[:, self.user_seen].mean(axis=1, keepdims=True)], axis=1)

    @cached_property
    def _psi(self) -> Floats:
        """Psi as numbers with one more row per draw, the average over items."""
        return np.concatenate([self.psi, self.psi[:, self.item_seen].mean(axis=1, keepdims=True)], axis=1)

    @cached_property
    def _anyone(self) -> tuple[Floats, Floats, Floats]:
        """Theta, psi and noise's deviation in which an unknown user or item is, in each draw, some observed one.

        Their mean says what to expect of an unknown one; for how far off it may be, they have to differ.
        """
        rng = np.random.default_rng(0)
        theta, psi = self._theta.copy(), self._psi.copy()
        deviation = np.sqrt(np.concatenate([self.noise, self.noise[:, :1]], axis=1))
        for k in range(self.n_draws):
            user = rng.choice(np.flatnonzero(self.user_seen))
            theta[k, -1], deviation[k, -1] = theta[k, user], deviation[k, user]
            psi[k, -1] = psi[k, rng.choice(np.flatnonzero(self.item_seen))]
        return theta, psi, deviation

    def moments(self, users: NDArray[np.int64], items: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Return mean and standard deviation over draws for aligned rows; the last row is "unknown"."""
        users, items = self._settled(users, items)
        mean, deviation = np.empty(users.size), np.empty(users.size)
        theta, psi, _ = self._anyone
        mean_products(theta, psi, users, items, mean, deviation)
        unknown = (users == len(self.users)) | (items == len(self.items))
        if unknown.any():
            expected, nothing = np.empty(int(unknown.sum())), np.empty(int(unknown.sum()))
            mean_products(self._theta, self._psi, users[unknown], items[unknown], expected, nothing)
            mean[unknown] = expected
        return self.floor + (1.0 - 2.0 * self.floor) * mean, (1.0 - 2.0 * self.floor) * deviation

    def draws(self, users: NDArray[np.int64], items: NDArray[np.int64]) -> Floats:
        """Return what every draw says; float64[n_pairs, n_draws]."""
        users, items = self._settled(users, items)
        out = np.empty((users.size, self.n_draws))
        theta, psi, _ = self._anyone
        draw_products(theta, psi, users, items, out)
        return self.floor + (1.0 - 2.0 * self.floor) * out

    def interval(
        self, users: NDArray[np.int64], items: NDArray[np.int64], level: float, *, noise: bool
    ) -> tuple[Floats, Floats]:
        """Return the central interval of the probability or, with `noise`, of a new answer."""
        users, items = self._settled(users, items)
        low, high = np.empty(users.size), np.empty(users.size)
        tails = (0.5 * (1.0 - level), 0.5 * (1.0 + level))
        block = max(1, _BLOCK // self.n_draws)
        for first in range(0, users.size, block):
            part = slice(first, first + block)
            centre = self.draws(users[part], items[part])
            if noise:
                spread = np.ascontiguousarray(self._anyone[2][:, users[part]].T)
                for tail, out in zip(tails, (low, high), strict=True):
                    mixture_quantile(centre, spread, tail, out[part])
            else:
                low[part], high[part] = np.quantile(centre, tails, axis=1)
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    def _settled(self, users: NDArray[np.int64], items: NDArray[np.int64]) -> tuple[Any, Any]:
        """Give users and items without observations the row of the unknown."""
        sides = ((self.user_seen, users), (self.item_seen, items))
        return tuple(np.where(np.append(seen, False)[rows], rows, len(seen)) for seen, rows in sides)  # type: ignore[return-value]

    def stored(self) -> Parts:
        """Return what a file holds of this: numbers and arrays by name."""
        meta = {"n_chains": self.n_chains, "likelihood": self.likelihood, "n_events": self.theta.shape[2]}
        arrays: dict[str, NDArray[Any]] = {
            "theta": self.theta,
            "psi": np.packbits(self.psi, axis=2),
            "noise": self.noise,
            **{f"prior_{name}": values for name, values in self.priors.items()},
        }
        return meta, arrays | training_arrays(self.training)

    @classmethod
    def restored(cls, parts: StoredParts) -> Posterior:
        """Undo `stored`; what does not belong together is for `validate` to find."""
        return cls(
            theta=parts.array("theta", 3, "float64"),
            psi=parts.unpacked("psi", 3),
            noise=parts.array("noise", 2, "float64"),
            n_chains=parts.count("n_chains"),
            likelihood=str(parts.meta["likelihood"]),
            training=parts.training(),
            priors={
                name.removeprefix("prior_"): parts.array(name, 1, "float64")
                for name in parts.arrays
                if name.startswith("prior_")
            },
        )

    def validate_numbers(self) -> None:
        """Check that the draws are models and the variances positive."""
        n_draws, size = (self.theta.shape[0], self.theta.shape[-1]) if self.theta.ndim == 3 else (0, 0)
        if n_draws < 1 or size < 1 or self.n_chains < 1 or n_draws % self.n_chains:
            raise InvariantError("the draws must be as many of each chain, at least one")
        if self.likelihood not in ("gaussian", "bernoulli"):
            raise InvariantError(f"the likelihood {str(self.likelihood)[:40]!r} is unknown")
        check_array("theta", self.theta, np.float64, (n_draws, len(self.users), size))
        check_array("psi", self.psi, bool, (n_draws, len(self.items), size))
        check_array("the noise", self.noise, np.float64, (n_draws, len(self.users)))
        check_simplex("theta", self.theta)
        check_positive("the noise", self.noise)
        for name, values in self.priors.items():
            check_array(f"the prior's {name}", values, np.float64, (n_draws,))
            check_positive(f"the prior's {name}", values)
