"""Containers are written section by section, and are none before their footer is."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.container.layout import ALIGNMENT, DTYPES, HEAD, LARGEST_FOOTER, MAGIC, TAIL, VERSION, Section
from kolmogorov._support.files import atomic_writer


def write(path: str | os.PathLike[str], kind: str, meta: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write arrays that are at hand, atomically: until the file is whole, `path` stays as it was."""
    with atomic_writer(path) as stream:
        # A pipe takes bytes in their order only.
        target = stream if stream.seekable() else io.BytesIO()
        writer = Writer(target)
        for name, array in arrays.items():
            block = np.ascontiguousarray(array)
            writer.reserve(name, block.dtype.name, block.size, shape=block.shape).append(block.ravel())
        writer.finish(kind, meta)
        if isinstance(target, io.BytesIO):
            stream.write(target.getbuffer())


class Growing:
    """An array that is appended to, in space that was reserved for it."""

    def __init__(self, stream: BinaryIO, offset: int, dtype: str, capacity: int, shape: tuple[int, ...] | None) -> None:
        self._stream, self._offset, self._dtype, self._capacity = stream, offset, dtype, capacity
        self._digest = hashlib.sha256()
        self._shape = shape
        self._size = 0

    def append(self, array: NDArray[Any]) -> None:
        """Write the next elements."""
        block = np.ascontiguousarray(array, dtype=np.dtype(DTYPES[self._dtype]))
        if self._size + block.size > self._capacity:
            raise ValueError("a section is longer than what was reserved for it")
        if block.size:
            view = block.data.cast("B")
            self._stream.seek(self._offset + self._size * block.itemsize)
            self._stream.write(view)
            self._digest.update(view)
            self._size += block.size

    @property
    def digest(self) -> bytes:
        """SHA-256 of what was written."""
        return self._digest.digest()

    @property
    def section(self) -> Section:
        """What the footer says about it."""
        return Section(self._dtype, self._shape or (self._size,), self._offset, self._digest.hexdigest())


class Writer:
    """Writes a container to a stream: sections in any order, then `finish`."""

    def __init__(self, stream: BinaryIO, alignment: int = ALIGNMENT) -> None:
        self._stream, self._alignment = stream, alignment
        self._stream.write(HEAD.pack(MAGIC, VERSION))
        self._end = alignment
        self.sections: dict[str, Growing] = {}

    def reserve(self, name: str, dtype: str, capacity: int, *, shape: tuple[int, ...] | None = None) -> Growing:
        """Make room for up to so many elements; without a shape it is one-dimensional and may end up shorter."""
        self.sections[name] = Growing(self._stream, self._end, dtype, capacity, shape)
        itemsize = np.dtype(DTYPES[dtype]).itemsize
        self._end += -(-capacity * itemsize // self._alignment) * self._alignment
        return self.sections[name]

    def finish(self, kind: str, meta: Mapping[str, Any]) -> None:
        """Write the footer; from here on the file is a container."""
        sections = {name: vars(growing.section) for name, growing in self.sections.items()}
        footer = json.dumps(
            {"kind": kind, "meta": meta, "sections": sections, "end": self._end}, allow_nan=False
        ).encode()
        if len(footer) > LARGEST_FOOTER:
            raise ValueError(f"a footer of {len(footer)} bytes is more than a reader takes")
        self._stream.seek(self._end)
        self._stream.write(footer + TAIL.pack(len(footer), hashlib.sha256(footer).digest(), MAGIC))
