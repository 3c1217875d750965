"""The parts of a model's file: named arrays and numbers, handed out with their kind checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data import Observations, Scale, Vocabulary
from kolmogorov.data.levels import LevelsRequirement
from kolmogorov.data.provenance import Provenance
from kolmogorov.data.view import View
from kolmogorov.errors import InvariantError

Parts = tuple[dict[str, Any], dict[str, NDArray[Any]]]
#: Entries that are turned into codes at once, by judgement: some 100 MB at most.
_BLOCK = 1 << 22


@dataclass(frozen=True)
class StoredParts:
    """The parts of a file, handed out by name with their type and number of dimensions checked."""

    meta: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]

    def array(self, name: str, dimensions: int, *dtypes: str) -> NDArray[Any]:
        """Return an array of one of the types."""
        array = self.arrays[name]
        if array.ndim != dimensions or array.dtype.name not in dtypes:
            wanted = " or ".join(dtypes)
            raise InvariantError(
                f"{name} must be {wanted} in {dimensions} dimension(s), got {array.dtype.name}{list(array.shape)}"
            )
        return array

    def count(self, name: str) -> int:
        """Return a number that counts something."""
        value = self.meta[name]
        if type(value) is not int or value < 1:
            raise InvariantError(f"{name} must be a whole number above 0, got {str(value)[:40]}")
        return value

    def unpacked(self, name: str, dimensions: int) -> NDArray[np.bool_]:
        """Return bits that were packed along the last axis, `n_events` of them."""
        packed, size = self.array(name, dimensions, "uint8"), self.count("n_events")
        if packed.shape[-1] != -(-size // 8):
            raise InvariantError(f"{name} has {packed.shape[-1]} bytes a row, which do not hold {size} events")
        return np.unpackbits(packed, axis=dimensions - 1, count=size).view(bool)

    def on_levels(self, name: str, dimensions: int, levels: Floats) -> Floats:
        """Return levels that were written as their numbers, a byte each."""
        codes = self.array(name, dimensions, "uint8")
        if codes.size and int(codes.max()) >= levels.size:
            raise InvariantError(f"{name} holds a number that stands for no level")
        found: Floats = levels[codes]
        return found

    def training(self) -> Observations:
        """Return the observations that the model was fitted to."""
        users, items = (Vocabulary.from_arrays(side, self.arrays) for side in ("users", "items"))
        levels = self.array("seen_levels", 1, "float64")
        codes = self.array("seen_codes", 1, "uint8", "int32")
        if codes.size and not 0 <= int(codes.min()) <= int(codes.max()) < levels.size:
            raise InvariantError("seen_codes holds a number that stands for no value")
        rows = View(
            self.array("seen_indptr", 1, "int64"),
            self.array("seen_items", 1, "int32", "int64"),
            levels[codes],
            self.array("seen_weights", 1, "float64") if "seen_weights" in self.arrays else np.empty(0),
        )
        stored = self.meta.get("source")
        source = None if stored is None else Provenance.from_dict(stored)
        return Observations(users, items, rows, self.scale(), source)

    def scale(self) -> Scale:
        """Return the map between probabilities and rating units."""
        ends = [self.meta["scale"][name] for name in ("minimum", "maximum")]
        if not all(type(end) in (int, float) for end in ends):
            raise InvariantError("the scale must have a minimum and a maximum, both numbers")
        return Scale(float(ends[0]), float(ends[1]))


def check_levels(levels: NDArray[Any]) -> None:
    """Raise `InvariantError` where an array holds no levels of draws."""
    requirement = LevelsRequirement()
    if levels.dtype != np.float64 or not requirement.accepts(levels):
        raise InvariantError(f"the levels must be {requirement}")


def training_arrays(training: Observations, block: int = _BLOCK) -> dict[str, NDArray[Any]]:
    """Return the observations that a model was fitted to as arrays for its file; the ids too."""
    # Ratings have few distinct values; a byte each then does. Block by block, as there may be very many.
    values = training.values
    blocks = [slice(first, first + block) for first in range(0, values.size, block)]
    levels = np.unique(np.concatenate([np.unique(values[part]) for part in blocks]))
    codes = np.empty(values.size, dtype=np.uint8 if len(levels) <= 256 else np.int32)
    for part in blocks:
        codes[part] = np.searchsorted(levels, values[part])
    seen: dict[str, NDArray[Any]] = {"seen_indptr": training.rows.indptr, "seen_items": training.rows.indices}
    seen |= {"seen_levels": levels, "seen_codes": codes}
    if training.weights is not None:
        seen["seen_weights"] = training.weights
    return seen | training.users.arrays("users") | training.items.arrays("items")
