"""Whether somebody still waits for what is being computed: a thread cannot be stopped, so it asks."""

from __future__ import annotations

from contextvars import ContextVar

from kolmogorov.errors import KolmogorovError


class UnwantedError(KolmogorovError):
    """Nobody waits for the answer any more."""


class Wanted:
    """Tells the thread that computes an answer whether it is still wanted."""

    def __init__(self) -> None:
        self._ended = False

    def end(self) -> None:
        """Say that nobody waits any more."""
        self._ended = True

    def check(self) -> None:
        """Raise where nobody waits any more."""
        if self._ended:
            raise UnwantedError("Nobody waits for this answer.")


#: Of the request that is being answered; a thread that answers it has it too.
WANTED: ContextVar[Wanted | None] = ContextVar("wanted", default=None)


def check_wanted() -> None:
    """Raise `UnwantedError` between two parts of an answer where nobody waits for it any more."""
    wanted = WANTED.get()
    if wanted is not None:
        wanted.check()


def parts_of(count: int, size: int) -> list[slice]:
    """Return so many things in parts of at most a size.

    Examples
    --------
    >>> parts_of(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 6, None)]
    """
    return [slice(first, first + size) for first in range(0, count, size)]
