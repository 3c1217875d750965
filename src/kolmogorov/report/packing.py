"""Arrays as text that a page can hold: numbers as bytes in base64."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_text(array: NDArray[Any]) -> str:
    """Return the bytes of an array, little-endian, in base64."""
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return base64.b64encode(np.ascontiguousarray(little).tobytes()).decode("ascii")


def shares(values: NDArray[np.float64]) -> str:
    """Return numbers between 0 and 1 as 16 bits each."""
    return as_text(np.rint(np.clip(values, 0.0, 1.0) * 65535).astype(np.uint16))


def bits(flags: NDArray[np.bool_]) -> str:
    """Return flags as one bit each, the first in the lowest."""
    return as_text(np.packbits(flags.ravel(), bitorder="little"))


def nibbles(codes: NDArray[np.int64]) -> str:
    """Return numbers below 16 two to a byte, the first in the lower half."""
    padded = np.append(codes, 0)[: len(codes) + len(codes) % 2].astype(np.uint8)
    return as_text(padded[::2] | (padded[1::2] << 4))


def varints(numbers: NDArray[np.int64]) -> str:
    """Return whole numbers in groups of seven bits, the lowest first; the eighth bit says that more follow."""
    sizes = np.maximum(1, -(-_bit_lengths(numbers) // 7))
    ends = np.cumsum(sizes)
    out = np.zeros(int(ends[-1]) if len(ends) else 0, dtype=np.uint8)
    for place in range(int(sizes.max()) if len(sizes) else 0):
        has = sizes > place
        part = (numbers[has] >> (7 * place)) & 127
        out[ends[has] - sizes[has] + place] = part | np.where(sizes[has] > place + 1, 128, 0)
    return as_text(out)


def _bit_lengths(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    # Whole numbers below 2 ** 53 are floats without loss, and frexp gives the length.
    return np.frexp(numbers.astype(np.float64))[1].astype(np.int64)
