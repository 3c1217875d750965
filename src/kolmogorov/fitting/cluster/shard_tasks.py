"""What the tasks of a fit on a cluster do with a shard on the processors of its worker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.nearest import nearest
from kolmogorov._support.threads import one_blas_thread
from kolmogorov._support.typing import Floats
from kolmogorov.data.packed.shards import Shard
from kolmogorov.execution import Threads
from kolmogorov.fitting.descent.equations import Partners
from kolmogorov.fitting.descent.half_step import HalfStep
from kolmogorov.fitting.descent.objective import Objective, UserTotals

Equations = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class UserBlock:
    """The thetas of a shard's users, and what the rest of the world needs to know of them."""

    theta: Floats
    totals: UserTotals

    def __sizeof__(self) -> int:
        return self.theta.nbytes


@dataclass(frozen=True, eq=False)
class Encoded:
    """Psi for travelling: a bit for each event where it is bits, a byte where it is levels, numbers where neither."""

    content: NDArray[Any]
    n_events: int
    grid: Floats | None = None

    @classmethod
    def of(cls, psi: Floats, grid: Floats | None) -> Encoded:
        """Pack rows of psi."""
        if grid is not None:
            return cls(nearest(psi, grid), psi.shape[1], grid)
        bits = bool(((psi == 0.0) | (psi == 1.0)).all())
        return cls(np.packbits(psi.astype(np.uint8), axis=1) if bits else psi, psi.shape[1])

    @property
    def psi(self) -> Floats:
        """The rows as floats."""
        if self.grid is not None:
            return self.grid[self.content]
        if self.content.dtype != np.uint8:
            return np.array(self.content)
        return np.unpackbits(self.content, axis=1, count=self.n_events).astype(np.float64)

    def __sizeof__(self) -> int:
        return self.content.nbytes


@dataclass(frozen=True)
class ShardTasks:
    """Functions that workers can import, for one kind of processor."""

    #: Take over thetas as a block of users.
    given: Callable[[Shard, Floats, Objective], Any]
    #: Give them back.
    theta: Callable[[Any], Floats]
    #: Solve a shard's users given psi; return them as a block.
    stepped: Callable[[Shard, Any, Encoded, HalfStep, Objective], Any]
    #: Return what a shard's users contribute to the normal equations of some items, observed with them or not.
    equations: Callable[[Shard, Any, int, int, HalfStep], Equations]
    #: Solve a block of items.
    solved: Callable[[Equations, Encoded, HalfStep], Encoded]


def drawn(
    given: Callable[[Shard, Floats, Objective], Any], shard: Shard, stream: Any, n_events: int, objective: Objective
) -> Any:
    """Draw thetas from the place in a stream of random numbers that belongs to the shard."""
    bits = getattr(np.random, stream["bit_generator"])()
    bits.state = stream
    return given(shard, np.random.Generator(bits).dirichlet(np.ones(n_events), size=shard.n_users), objective)


def added(a: Equations, b: Equations) -> Equations:
    """Add up what two shards contribute."""
    return a[0] + b[0], a[1] + b[1]


def _given(shard: Shard, theta: Floats, objective: Objective) -> UserBlock:
    nothing, counted = np.zeros(1), objective.counted(shard.rows.counts)
    return UserBlock(_writable(theta), UserTotals.of(theta, nothing, theta[0], counted))


def _stepped(shard: Shard, block: UserBlock, psi: Encoded, step: HalfStep, objective: Objective) -> UserBlock:
    here = replace(step, offset=shard.first, centre=_writable(step.centre))
    with one_blas_thread(), Threads(1) as dealer:
        theta, values = here.run(shard.rows, psi.psi, _writable(block.theta), dealer)
    return UserBlock(theta, UserTotals.of(theta, values, here.centre, objective.counted(shard.rows.counts)))


def _equations(shard: Shard, block: UserBlock, first: int, last: int, step: HalfStep) -> Equations:
    theta = _writable(block.theta)
    partners = Partners.of(theta, shard.columns, step.unobserved)
    return partners.equations(shard.columns, first, last, step.ridge, _writable(step.centre))


def _solved(equations: Equations, start: Encoded, step: HalfStep) -> Encoded:
    gram, moment = map(_writable, equations)
    with one_blas_thread():
        psi = step.solved(gram, moment, start.psi)
    return Encoded.of(psi, start.grid)


def _writable(array: Floats) -> Floats:
    """Copy an array that came read-only from elsewhere: kernels are compiled for writable ones."""
    return array if array.flags.writeable else array.copy()


HOST_TASKS = ShardTasks(_given, attrgetter("theta"), _stepped, _equations, _solved)
