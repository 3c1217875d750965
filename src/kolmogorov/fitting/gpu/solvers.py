"""Kernels that solve rows on a GPU: one warp, or a part of one, for each small problem."""

from __future__ import annotations

from typing import Any

from kolmogorov.errors import ParameterError
from kolmogorov.fitting.descent.problem import Problem
from kolmogorov.fitting.gpu.equations import Batch
from kolmogorov.fitting.gpu.factors import row_length
from kolmogorov.kernels.gpu import function

#: The most events: a word of bits, and what a warp holds of a row.
_MOST_EVENTS = 64
#: Up to so many events every support of an item is looked at; as many as on threads (`solvers.binary.auto`).
ENUMERATED = 16
#: The most levels that a block of threads holds beside its rows.
_MOST_LEVELS = 256
#: Bytes of shared memory that a block of threads may ask for without being granted more.
_SHARED = 48 << 10
_USER_SOLVERS = ("active_set", "pairwise")
_ITEM_SOLVERS = ("auto", "exhaustive", "local_search", "coordinate")


class RowKernel:
    """A kernel that solves rows, with its layout: so many bytes of shared memory and so many rows for each warp."""

    def __init__(
        self, path: str, name: str, constants: dict[str, int], room: int, *, rows: int = 1, common: int = 0
    ) -> None:
        self._kernel = function(path, name, **constants)
        self._rows = rows
        self._warps = max(1, min(8, (_SHARED - common) // room))
        self._shared = common + self._warps * room
        if self._shared > _SHARED:
            self._kernel.max_dynamic_shared_size_bytes = self._shared

    def __call__(self, batch: Batch, given: tuple[Any, ...], out: tuple[Any, ...]) -> None:
        """Solve the rows of a batch."""
        blocks = -(-batch.n_rows // (self._warps * self._rows))
        self._kernel((blocks,), (32 * self._warps,), batch.arguments + given + out, shared_mem=self._shared)


def user_kernel(size: int, *, bits: bool) -> RowKernel:
    """Return what solves users whose items are bits, or numbers."""
    length = row_length(size)
    lanes = lanes_of_row(length)
    rows = 32 // lanes
    room = 4 * rows * (length * length + 2 * length + max(4, lanes))
    constants = {"D": size, "P": length, "G": lanes, "BITS": int(bits)}
    return RowKernel("rows/simplex.cu", "pairwise_descent", constants, room, rows=rows)


def item_kernel(size: int, *, levels: bool) -> RowKernel:
    """Return what solves items of several levels, or of two: all supports up to 16 events, a search beyond."""
    length = row_length(size)
    constants = {"D": size, "P": length}
    if levels:
        room = 8 * (length * length + length + 64 * size)
        return RowKernel("levels/moves.cu", "multi_start", constants, room, common=8 * _MOST_LEVELS)
    if size <= ENUMERATED:
        return RowKernel("binary/enumeration.cu", "enumerate_all", constants, 8 * _enumeration_room(size))
    return RowKernel("binary/flips.cu", "multi_start", constants, 8 * (length * length + length + 32 * size))


def lanes_of_row(length: int) -> int:
    """Return the lanes of a warp that solve a user's problem together: a quarter of its row's length."""
    return 1 << max(0, (length // 4 - 1).bit_length())


def _enumeration_room(size: int) -> int:
    """Return the numbers that the enumeration of a row needs: see `enumerate_all`."""
    length, lanes = row_length(size), min(size, 5)
    registers = min(size - lanes, 4)
    high = size - lanes - registers
    return (length * length + length + (1 << high) + 32 * high + (high << registers) + 3) // 4 * 4


def check_events(size: int) -> None:
    """Raise where there are more events than kernels take."""
    if size > _MOST_EVENTS:
        raise ParameterError(f"On a GPU a model has at most {_MOST_EVENTS} events, got {size}. Fit without execution.")


def check_solvers(problem: Problem) -> None:
    """Raise where a solver was asked for that is not to be had on a GPU."""
    for solver, known in ((problem.user_solver, _USER_SOLVERS), (problem.item_solver, _ITEM_SOLVERS)):
        if solver.name not in known or solver.family == "box":
            raise ParameterError(
                f"Solver '{solver.name}' does not run on a GPU; for this family there are "
                f"{' and '.join(repr(name) for name in known)}, each solved by the kernel of its size. Leave it "
                "out, or fit without execution."
            )
