"""Tables in parts: held out, or in folds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data.entries.view import View
from kolmogorov.data.numbers.scale import Scale
from kolmogorov.data.table.split import By, entries_held_out, fold_numbers


class Dividing:
    """Base of observations, of which parts can be chosen."""

    rows: View
    scale: Scale
    times: Floats | None

    @abstractmethod
    def subset(self, chosen: NDArray[np.bool_]) -> Self:
        """Keep the chosen entries."""

    @abstractmethod
    def __len__(self) -> int: ...

    def split(
        self, test_size: float = 0.2, random_state: Any = None, *, by: By = "entry", times: Any = None
    ) -> tuple[Self, Self]:
        """Hold out some of the entries: (train, test), with the same ids on both sides.

        Parameters
        ----------
        test_size : float
            Share of the entries to hold out.
        random_state : int, Generator, RandomState or None
        by : {"entry", "user", "time", "leave_one_out"}
            Entries at random; a share of every user's entries; the latest entries of all; one entry of every user
            (`test_size` is not used). A user with one entry keeps it, except by time.
        times : Observations or array-like, optional
            When every entry was made, as in `with_times`. By time they are needed, and are by default the `times` that
            are known; by user and one of every user they make the latest entries those held out, where they are given.

        Examples
        --------
        >>> from kolmogorov import Observations
        >>> obs = Observations.from_dense([[1, 0], [0, 1], [1, 1]])
        >>> train, test = obs.split(test_size=1/3, random_state=0)
        >>> len(train), len(test)
        (4, 2)
        >>> when = Observations.from_dense([[1999, 2001], [2003, 2002], [2000, 2004]], scaling="minmax")
        >>> train, test = obs.split(by="leave_one_out", times=when)
        >>> test.item_rows().tolist()
        [1, 0, 1]
        """
        when = (times.rows, times.scale) if isinstance(times, Dividing) else times
        # Entries at random are that whether times are known or not.
        when = self.times if when is None and by == "time" else when
        chosen = entries_held_out(self.rows, test_size, random_state, by, when)
        return self.subset(~chosen), self.subset(chosen)

    def folds(self, k: int = 5, random_state: Any = None) -> Iterator[tuple[Self, Self]]:
        """Yield k pairs (train, test) in which every entry is tested once."""
        part = fold_numbers(len(self), k, random_state)
        return ((self.subset(part != fold), self.subset(part == fold)) for fold in range(k))
