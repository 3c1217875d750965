"""Model files and checkpoints are `.npz`: arrays that are stored and not compressed, and JSON in one of them, `about`.

What reads a file declares what is in it. By the name of an array a schema says "type size size ...", and of several
types "u1|f8". A size is a number, a word that means the same size wherever it stands, or * for any; an array whose name
ends in ? may be absent. A file may have been made by anybody: names, types and sizes are compared with the schema and
with the file before memory is asked for, nothing is unpickled, and what arrays say must then satisfy `invariants`.
"""

from __future__ import annotations

import json
import math
import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.writing import replacing
from kolmogorov.data import Observations, Scale, Vocabulary
from kolmogorov.data.told import Provenance
from kolmogorov.data.view import View
from kolmogorov.errors import FileFormatError, InvariantError, KolmogorovError, ParameterError

Arrays = dict[str, NDArray[Any]]
Parts = tuple[dict[str, Any], Arrays]
Schema = dict[str, str]

#: Of what is in files; the one before was no `.npz`.
LAYOUT = 5
#: JSON takes up to 25 times its length in memory, and a zip directory 14 times; one of ours has 70 bytes an array.
_LONGEST_JSON, _LONGEST_DIRECTORY = 4 << 20, 1 << 16
#: Entries turned into codes at once, by judgement: some 100 MB at most.
_BLOCK = 1 << 22
#: What NumPy writes before an array; other types than these are in no file of ours.
_LONGEST_HEADER = 256
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..{'descr': '[<|]([fiu]\d)', 'fortran_order': False, 'shape': \(([\d, ]{1,60})\), } *\n",
    re.DOTALL,
)


def write(path: str | os.PathLike[str], kind: str, meta: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write a file of some kind; until it is whole, what was there stays as it was."""
    about = json.dumps({"kind": kind, "layout": LAYOUT, **meta}, allow_nan=False).encode()
    if len(about) > _LONGEST_JSON:
        raise ValueError(f"what a file says in JSON has {len(about)} bytes, which is more than a reader takes")
    with replacing(path) as stream:
        rows = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        np.savez(stream, about=np.frombuffer(about, np.uint8), **rows)  # type: ignore[arg-type]


def read(path: Any, schemas: Mapping[str, Schema]) -> tuple[dict[str, Any], Arrays]:
    """Read a file of one of the kinds that there are schemas of: what it says, its "kind" too, and its arrays."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise ParameterError(f"A file is named by a text or a path, got {path!r}.")
    path = os.fsdecode(path)
    if os.path.exists(path) and not os.path.isfile(path):
        # Opening a pipe would wait for somebody who writes into it.
        raise FileFormatError(f"{path} is no regular file.")
    with refusing(path), open(path, "rb") as stream:
        _check_directory(stream)
        with zipfile.ZipFile(stream) as archive:
            heads = _heads(archive, os.fstat(stream.fileno()).st_size)
            _check_heads({"about": heads["about"]}, {"about": "u1 *"})
            if heads.pop("about")[1][0] > _LONGEST_JSON:
                raise InvariantError(f"what it says in JSON has more than {_LONGEST_JSON} bytes")
            about = _sound_json(_array(archive, "about").tobytes())
            if about["layout"] != LAYOUT:
                layout = str(about["layout"])[:40]
                raise FileFormatError(
                    f"{path} was written by another version of kolmogorov: its layout is {layout}, this one reads "
                    f"{LAYOUT}. Fit again."
                )
            if about["kind"] not in schemas:
                kinds = " or a ".join(map(repr, schemas))
                raise FileFormatError(f"{path} holds a {str(about['kind'])[:40]!r}, not a {kinds}.")
            _check_heads(heads, schemas[about["kind"]])
            return about, {name: _array(archive, name) for name in heads}


@contextmanager
def refusing(path: Any) -> Iterator[None]:
    """Whatever goes wrong with a file inside the block is a `FileFormatError` that names it."""
    try:
        yield
    except FileFormatError:
        raise
    except FileNotFoundError:
        raise FileFormatError(f"There is no file {path}.") from None
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror or error}.") from None
    except KolmogorovError as error:
        raise FileFormatError(f"{path} is malformed: {str(error).removesuffix('.')}.") from None
    except zipfile.BadZipFile as error:
        why = str(error).removesuffix(".")
        raise FileFormatError(f"{path} is damaged, cut short, or not a kolmogorov file: {why}.") from None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError, EOFError) as error:
        raise FileFormatError(f"{path} is malformed: {type(error).__name__}: {error}.") from None


# --- what may be read ---------------------------------------------------------------------------------------------

Head = tuple[str, tuple[int, ...]]


def _check_directory(stream: BinaryIO) -> None:
    """Refuse a long zip directory, also one of large files; zipfile makes objects of all of it before anybody looks."""
    stream.seek(max(stream.seek(0, os.SEEK_END) - 98, 0))
    tail = stream.read()
    sizes = [tail[-10:-6], tail[-58:-50] if tail[-42:-38] == b"PK\6\7" else b""]
    if tail[-22:-18] != b"PK\5\6" or any(int.from_bytes(size, "little") > _LONGEST_DIRECTORY for size in sizes):
        raise zipfile.BadZipFile("it has no directory of arrays at its end")


def _heads(archive: zipfile.ZipFile, size: int) -> dict[str, Head]:
    """Return type and shape of every array, compared with the room that there is for it."""
    heads: dict[str, Head] = {}
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size or name in heads:
            raise InvariantError(f"the array {name[:40]!r} is compressed, or there twice")
        with archive.open(info) as member:
            found = _HEADER.match(member.read(_LONGEST_HEADER))
        shape = tuple(int(n) for n in found[2].split(b",") if n.strip()) if found else ()
        if not found or math.prod(shape) * int(found[1][1:]) != info.file_size - found.end():
            raise InvariantError(f"the array {name[:40]!r} is not of the size or of a type that it may have")
        heads[name] = found[1].decode(), shape
        size -= info.file_size
    if size < 0:
        raise InvariantError("its arrays are larger than it is")
    return heads


def _check_heads(heads: Mapping[str, Head], schema: Schema) -> None:
    """Compare types and shapes with what is declared."""
    if strange := sorted(heads.keys() - {name.rstrip("?") for name in schema}):
        raise InvariantError(f"the array {strange[0][:40]!r} does not belong into it")
    sizes: dict[str, int] = {}
    for name, declared in schema.items():
        if name.endswith("?") and name[:-1] not in heads:
            continue
        dtype, shape = heads[name.rstrip("?")]
        types, *axes = declared.split()
        wanted = [
            int(axis) if axis.isdigit() else n if axis == "*" else sizes.setdefault(axis, n)
            for axis, n in zip(axes, shape, strict=False)
        ]
        if dtype not in types.split("|") or len(axes) != len(shape) or wanted != list(shape):
            raise InvariantError(f"{name.rstrip('?')} must be {declared}, got {dtype} {list(shape)}")


def _array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """Read an array that was compared with everything; its checksum is compared at its end."""
    with archive.open(f"{name}.npy") as member:
        found: NDArray[Any] = np.lib.format.read_array(member, allow_pickle=False)
    return found


def _sound_json(content: bytes) -> dict[str, Any]:
    """Parse JSON as we write it: whole characters, numbers that can be computed with."""

    def number(text: str) -> float:
        if not math.isfinite(value := float(text)):
            raise InvariantError("what it says in JSON holds NaN or infinity")
        return value

    found: dict[str, Any] = json.loads(content, parse_float=number, parse_constant=number)
    json.dumps(found, ensure_ascii=False).encode()
    return found


# --- what a model was fitted to -----------------------------------------------------------------------------------

TRAINING: Schema = {
    "seen_indptr": "i8 *",
    "seen_items": "i4|i8 entries",
    "seen_levels": "f8 *",
    "seen_codes": "u1|i4 entries",
    "seen_weights?": "f8 entries",
}
for _side in ("users", "items"):
    TRAINING |= {f"{_side}_ids_ends": f"i8 {_side}", f"{_side}_ids_bytes": "u1 *"}
    TRAINING |= {f"{_side}_labels_ends?": f"i8 {_side}", f"{_side}_labels_bytes?": "u1 *"}


def stored_training(training: Observations, block: int = _BLOCK) -> Parts:
    """Return what a file holds of the observations that a model was fitted to; the ids too."""
    # Ratings have few distinct values; a byte each then does. Block by block, as there may be very many.
    values = training.values
    blocks = [slice(first, first + block) for first in range(0, values.size, block)]
    levels = np.unique(np.concatenate([np.unique(values[part]) for part in blocks]))
    codes = np.empty(values.size, dtype=np.uint8 if len(levels) <= 256 else np.int32)
    for part in blocks:
        codes[part] = np.searchsorted(levels, values[part])
    seen: Arrays = {"seen_indptr": training.rows.indptr, "seen_items": training.rows.indices}
    seen |= {"seen_levels": levels, "seen_codes": codes}
    if training.weights is not None:
        seen["seen_weights"] = training.weights
    # The next file is read as the source of this one was.
    source = None if training.source is None else training.source.to_dict()
    meta = {"scale": asdict(training.scale), "source": source}
    return meta, seen | training.users.arrays("users") | training.items.arrays("items")


def restored_training(meta: Mapping[str, Any], arrays: Arrays) -> Observations:
    """Undo `stored_training`; what is no table is an `InvariantError`."""
    users, items = (Vocabulary.from_arrays(side, arrays) for side in ("users", "items"))
    levels, codes = arrays["seen_levels"], arrays["seen_codes"]
    if codes.size and not 0 <= int(codes.min()) <= int(codes.max()) < levels.size:
        raise InvariantError("seen_codes holds a number that stands for no value")
    weights = arrays.get("seen_weights", np.empty(0))
    rows = View(arrays["seen_indptr"], arrays["seen_items"], levels[codes], weights)
    rows.validate(len(users), len(items))
    if not codes.size:
        raise InvariantError("there are no observations that the model was fitted to")
    ends = [meta["scale"][name] for name in ("minimum", "maximum")]
    if not all(type(end) in (int, float) for end in ends):
        raise InvariantError("the scale must have a minimum and a maximum, both numbers")
    source = None if meta["source"] is None else Provenance.from_dict(meta["source"])
    return Observations(users, items, rows, Scale(*map(float, ends)), source)


def count(value: Any) -> int:
    """Return a number that counts something."""
    if type(value) is not int or not 1 <= value < 2**63:
        raise InvariantError(f"what counts something must be a whole number above 0, got {str(value)[:40]}")
    return value
