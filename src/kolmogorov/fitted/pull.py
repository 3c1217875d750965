"""What a row of which little is known is drawn to, and how strongly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.invariants import check_array, check_bounded
from kolmogorov._support.typing import Floats
from kolmogorov.errors import InvariantError
from kolmogorov.fitted.files import StoredParts


@dataclass(frozen=True, eq=False)
class Pull:
    """The price of a row x that is not what rows usually are: (x - centre)^T strength (x - centre).

    Attributes
    ----------
    centre : float64[D]
    strength : float64[D, D]
        Symmetric, in units of observations: a row with n of them heeds them as n times the identity would.
    """

    centre: Floats
    strength: Floats

    @classmethod
    def even(cls, centre: Floats, ridge: float) -> Pull:
        """Return a pull that is equally strong in all directions."""
        return cls(centre, ridge * np.eye(centre.size))

    def arrays(self, side: str) -> dict[str, NDArray[Any]]:
        """Return what a file holds of this."""
        return {f"{side}_centre": self.centre, f"{side}_pull": self.strength}

    @classmethod
    def restored(cls, parts: StoredParts, side: str) -> Pull:
        """Undo `arrays`."""
        return cls(parts.array(f"{side}_centre", 1, "float64"), parts.array(f"{side}_pull", 2, "float64"))

    def validate(self, whose: str, size: int) -> None:
        """Raise `InvariantError` where this is no pull on rows of some size; for arrays that come from a file."""
        check_array(f"the centre of {whose}", self.centre, np.float64, (size,))
        check_array(f"the pull on {whose}", self.strength, np.float64, (size, size))
        check_bounded(f"the centre of {whose}", self.centre)
        check_bounded(f"the pull on {whose}", self.strength)
        tolerance = 1e-9 * float(np.abs(self.strength).max())
        if np.abs(self.strength - self.strength.T).max() > tolerance:
            raise InvariantError(f"the pull on {whose} is not symmetric")
        if np.linalg.eigvalsh(self.strength)[0] < -tolerance * size:
            raise InvariantError(f"the pull on {whose} pushes rows away")
