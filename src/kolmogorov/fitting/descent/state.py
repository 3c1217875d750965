"""The factors between two sweeps, and a descent's way through them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from kolmogorov._support.invariants import check_array, check_between, check_bits, check_simplex
from kolmogorov._support.typing import Floats
from kolmogorov.fitted.point import Sweep

#: What an engine keeps between two sweeps: a `State`, or what stands for one where theta is on other machines.
S = TypeVar("S")


@dataclass(frozen=True, eq=False)
class State:
    """The factors between two sweeps. Arrays are never changed in place.

    Supports are kept as floats because the normal equations multiply them. The centre is what theta was shrunk to when
    it was last updated.
    """

    theta: Floats
    psi: Floats
    centre: Floats

    def validate(self, n_users: int, n_items: int, n_events: int, *, binary: bool) -> None:
        """Raise `InvariantError` where the arrays are not factors of such a table; for arrays that come from a file."""
        check_array("theta", self.theta, np.float64, (n_users, n_events))
        check_array("psi", self.psi, np.float64, (n_items, n_events))
        check_array("the centre", self.centre, np.float64, (n_events,))
        check_simplex("theta", self.theta)
        check_simplex("the centre", self.centre)
        if binary:
            check_bits("psi", self.psi)
        check_between("psi", self.psi, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Run(Generic[S]):
    """One descent: where it is, how it came there, and whether Ctrl-C ended it."""

    state: S
    history: tuple[Sweep, ...] = ()
    interrupted: bool = False

    @property
    def objective(self) -> float:
        """The objective reached; infinite before the first sweep."""
        return self.history[-1].objective if self.history else float("inf")
