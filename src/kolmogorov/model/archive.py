"""Our files: one header in JSON, some arrays, one checksum. Nothing in them can be executed.

Layout, all integers little-endian::

    8 bytes   magic b"KOLMO\\r\\n\\x1a"   (a text-mode copy damages it visibly)
    4 bytes   version of this layout
    8 bytes   length of the header
    ...       header: JSON, UTF-8; {"kind": ..., "meta": {...}, "arrays": [{name, dtype, shape}, ...]}
    ...       the arrays' bytes, one after another, in the order of the header
    32 bytes  SHA-256 of everything before

The checksum is compared before anything is interpreted. A file with a right checksum and wrong content is
still only data: types, shapes and sizes are checked against the file before an array is made of them.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.files import atomic_writer
from kolmogorov.errors import FileFormatError

MAGIC = b"KOLMO\r\n\x1a"
VERSION = 2
_PREFIX = struct.Struct("<8sIQ")
_DIGEST_SIZE = hashlib.sha256().digest_size
_BLOCK = 1 << 23
_DTYPES = {"float64": "<f8", "int64": "<i8", "int32": "<i4", "uint8": "|u1"}


def write(path: str | os.PathLike[str], kind: str, meta: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write an archive atomically: until it is whole, `path` stays as it was."""
    directory = []
    blocks: list[Any] = []
    for name, array in arrays.items():
        block = np.ascontiguousarray(array)
        block = block.astype(np.dtype(_DTYPES[block.dtype.name]), copy=False)
        directory.append({"name": name, "dtype": block.dtype.name, "shape": list(block.shape)})
        blocks.append(block)
    header = json.dumps({"kind": kind, "meta": meta, "arrays": directory}, allow_nan=False).encode()
    digest = hashlib.sha256()
    with atomic_writer(path) as stream:
        parts: list[Any] = [_PREFIX.pack(MAGIC, VERSION, len(header)), header, *blocks]
        for part in parts:
            view = memoryview(part).cast("B") if len(part) else memoryview(b"")
            digest.update(view)
            stream.write(view)
        stream.write(digest.digest())


def read(path: str | os.PathLike[str], kinds: tuple[str, ...]) -> tuple[str, dict[str, Any], dict[str, NDArray[Any]]]:
    """Read an archive of one of the given kinds: (kind, meta, arrays). Any damage is a `FileFormatError`."""
    try:
        with open(path, "rb") as stream:
            return _read(stream, path, kinds)
    except FileNotFoundError:
        raise FileFormatError(f"There is no file {path}.") from None
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror}.") from None


def _read(stream: BinaryIO, path: Any, kinds: tuple[str, ...]) -> tuple[str, dict[str, Any], dict[str, NDArray[Any]]]:
    header, end = _header(stream, path)
    kind = header.get("kind")
    if kind not in kinds:
        raise FileFormatError(f"{path} holds a {kind!r}, not a {' or a '.join(map(repr, kinds))}.")
    meta = header.get("meta")
    directory = header.get("arrays")
    if not isinstance(meta, dict) or not isinstance(directory, list):
        raise _malformed(path, "its header lacks parts")
    arrays: dict[str, NDArray[Any]] = {}
    for entry in directory:
        name, dtype, shape = _entry(entry, path)
        if stream.tell() + math.prod(shape) * dtype.itemsize > end:
            raise _malformed(path, f"array {name!r} is larger than the file")
        arrays[name] = np.empty(shape, dtype)
        # The content is read into its place, so that a large model is in memory once.
        if arrays[name].size:
            cast("io.BufferedReader", stream).readinto(arrays[name].data.cast("B"))
    if stream.tell() != end:
        raise _malformed(path, "it has bytes that belong to nothing")
    return str(kind), meta, arrays


def _header(stream: BinaryIO, path: Any) -> tuple[dict[str, Any], int]:
    """Check magic, version and checksum, in this order; return the header, and where the arrays end."""
    prefix = stream.read(_PREFIX.size)
    if not prefix.startswith(MAGIC[:5]):
        raise FileFormatError(f"{path} is not a kolmogorov file.")
    size = stream.seek(0, os.SEEK_END)
    if size < _PREFIX.size + _DIGEST_SIZE:
        raise FileFormatError(f"{path} is cut short: only {size} bytes are left.")
    magic, version, length = _PREFIX.unpack(prefix)
    end = size - _DIGEST_SIZE
    whole = magic == MAGIC and _digest(stream, end) == stream.read(_DIGEST_SIZE)
    if whole and version != VERSION:
        remedy = "Update kolmogorov." if version > VERSION else "Make the file anew."
        raise FileFormatError(f"{path} has layout version {version}, this release reads version {VERSION}. {remedy}")
    if not whole:
        raise FileFormatError(f"{path} is damaged: its checksum does not match. It was altered or cut short.")
    if _PREFIX.size + length > end:
        raise _malformed(path, "its header is larger than the file")
    stream.seek(_PREFIX.size)
    try:
        header = json.loads(stream.read(length))
    except (ValueError, RecursionError):
        raise _malformed(path, "its header is not JSON") from None
    if not isinstance(header, dict):
        raise _malformed(path, "its header is not an object")
    return header, end


def _digest(stream: BinaryIO, end: int) -> bytes:
    """Read up to `end` once, in blocks."""
    digest = hashlib.sha256()
    stream.seek(0)
    while block := stream.read(min(_BLOCK, end - stream.tell())):
        digest.update(block)
    return digest.digest()


def _entry(entry: Any, path: Any) -> tuple[str, np.dtype[Any], tuple[int, ...]]:
    try:
        name, dtype, shape = entry["name"], np.dtype(_DTYPES[entry["dtype"]]), tuple(entry["shape"])
    except (KeyError, TypeError):
        raise _malformed(path, "its list of arrays is wrong") from None
    sound = isinstance(name, str) and len(shape) <= 3
    if not sound or not all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 2**48 for n in shape):
        raise _malformed(path, "its list of arrays is wrong")
    return name, dtype, shape


def _malformed(path: Any, why: str) -> FileFormatError:
    return FileFormatError(f"{path} is malformed: {why}.")
