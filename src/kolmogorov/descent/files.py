"""Model files and checkpoints are `.npz`: arrays that are stored and not compressed, and JSON in one of them, `about`.

What reads a file declares what is in it. By the name of an array a schema says "type size size ...", and of several
types "u1|f8". A size is a number, a word that means the same size wherever it stands, or * for any; an array whose name
ends in ? may be absent. A file may have been made by anybody: the name, type and size of an array are compared with the
schema and with the file before memory is asked for, nothing is unpickled, and who reads a file checks what arrays say.
"""

import json
import math
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy
from numpy.typing import NDArray

from kolmogorov._support.outside import replacing
from kolmogorov.data import Observations, Scale, Vocabulary
from kolmogorov.data.told import Provenance
from kolmogorov.data.view import View
from kolmogorov.errors import FileFormatError, InvariantError, ParameterError

Arrays = dict[str, NDArray[Any]]
Parts = tuple[dict[str, Any], Arrays]
Schema = dict[str, str]
#: Of what is in files; the one before was no `.npz`.
LAYOUT = 5
#: JSON takes up to 25 times its length in memory, and a zip directory 14 times; one of ours has 70 bytes an array.
_LONGEST_JSON, _LONGEST_DIRECTORY = 4 << 20, 1 << 16
_ABOUT = {"about": "u1 *"}


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
            parts = archive.infolist()
            stored = all(part.compress_type == zipfile.ZIP_STORED for part in parts)
            room = os.fstat(stream.fileno()).st_size - sum(part.file_size for part in parts)
            if not stored or room < 0 or len(set(archive.namelist())) < len(parts):
                raise InvariantError("an array is compressed, there twice, or in the place of another")
            if archive.getinfo("about.npy").file_size > _LONGEST_JSON:
                raise InvariantError(f"what it says in JSON has more than {_LONGEST_JSON} bytes")
            about = json.loads(_arrays(archive, _ABOUT)["about"].tobytes(), parse_constant=float)
            # No numbers that are none or too large, and no halves of characters, which could not be shown.
            json.dumps(about, ensure_ascii=False, allow_nan=False).encode()
            if about["layout"] != LAYOUT:
                raise FileFormatError(
                    f"{path} was written by another version of kolmogorov: its layout is {str(about['layout'])[:40]}, "
                    f"this one reads {LAYOUT}. Fit again."
                )
            if about["kind"] not in schemas:
                kinds = " or a ".join(map(repr, schemas))
                raise FileFormatError(f"{path} holds a {str(about['kind'])[:40]!r}, not a {kinds}.")
            schema = schemas[about["kind"]]
            if strange := set(archive.namelist()) - {f"{name.rstrip('?')}.npy" for name in schema | _ABOUT}:
                raise InvariantError(f"{min(strange)[:40]!r} does not belong into it")
            return about, _arrays(archive, schema)


@contextmanager
def refusing(path: Any) -> Iterator[None]:
    """Whatever goes wrong with a file inside the block is a `FileFormatError` that names it."""
    try:
        yield
    except FileFormatError:
        raise
    except FileNotFoundError:
        raise FileFormatError(f"There is no file {path}.") from None
    except zipfile.BadZipFile as error:
        raise FileFormatError(f"{path} is damaged, cut short, or not a kolmogorov file: {error}.") from None
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror or error}.") from None
    except Exception as error:
        raise FileFormatError(f"{path} is malformed: {str(error).removesuffix('.')}.") from None


def _check_directory(stream: BinaryIO) -> None:
    """Refuse a long zip directory, also one of large files; zipfile makes objects of all of it before anybody looks."""
    stream.seek(max(stream.seek(0, os.SEEK_END) - 98, 0))
    tail = stream.read()
    sizes = [tail[-10:-6], tail[-58:-50] if tail[-42:-38] == b"PK\6\7" else b""]
    if tail[-22:-18] != b"PK\5\6" or any(int.from_bytes(size, "little") > _LONGEST_DIRECTORY for size in sizes):
        raise zipfile.BadZipFile("it has no directory of arrays at its end")


def _arrays(archive: zipfile.ZipFile, schema: Schema) -> Arrays:
    """Read the arrays of a schema, each when its type, shape and size are what they may be."""
    found: Arrays = {}
    sizes: dict[str, int] = {}
    for name, declared in schema.items():
        if name.endswith("?") and f"{name[:-1]}.npy" not in archive.namelist():
            continue
        name = name.rstrip("?")
        info, (types, *axes) = archive.getinfo(f"{name}.npy"), declared.split()
        with archive.open(info) as member:
            npy.read_magic(member)
            shape, columns_first, dtype = npy.read_array_header_1_0(member)
            wanted = [
                int(axis) if axis.isdigit() else n if axis == "*" else sizes.setdefault(axis, n)
                for axis, n in zip(axes, shape, strict=False)
            ]
            right = dtype.str.lstrip("<|") in types.split("|") and len(axes) == len(shape) and wanted == [*shape]
            size = math.prod(shape) * dtype.itemsize
            if not right or columns_first or min(shape) < 0 or size != info.file_size - member.tell():
                raise InvariantError(f"{name} must be {declared}, got {dtype} {list(shape)}, or is cut short")
            member.seek(0)
            # Its checksum is compared at its end.
            found[name] = npy.read_array(member, allow_pickle=False)
    return found


def count(value: Any) -> int:
    """Return a number that counts something."""
    if type(value) is not int or not 1 <= value < 2**63:
        raise InvariantError(f"what counts something must be a whole number above 0, got {str(value)[:40]}")
    return value


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


def stored_training(training: Observations) -> Parts:
    """Return what a file holds of the observations that a model was fitted to; the ids too."""
    # Ratings have few distinct values; a byte each then does.
    coded = pa.array(training.values).dictionary_encode()
    levels, codes = coded.dictionary.to_numpy(), coded.indices.to_numpy()
    arrays: Arrays = {"seen_indptr": training.rows.indptr, "seen_items": training.rows.indices, "seen_levels": levels}
    arrays["seen_codes"] = codes.astype(np.uint8 if levels.size <= 256 else np.int32)
    if training.weights is not None:
        arrays["seen_weights"] = training.weights
    # The next file is read as the source of this one was.
    source = None if training.source is None else training.source.to_dict()
    ids = training.users.arrays("users") | training.items.arrays("items")
    return {"scale": asdict(training.scale), "source": source}, arrays | ids


def restored_training(meta: Mapping[str, Any], arrays: Arrays) -> Observations:
    """Undo `stored_training`; what is no table is an `InvariantError`."""
    users, items = (Vocabulary.from_arrays(side, arrays) for side in ("users", "items"))
    levels, codes = arrays["seen_levels"], arrays["seen_codes"]
    if not codes.size or not 0 <= int(codes.min()) <= int(codes.max()) < levels.size:
        raise InvariantError("seen_codes holds no observation, or a number that stands for no value")
    rows = View(arrays["seen_indptr"], arrays["seen_items"], levels[codes], arrays.get("seen_weights", np.empty(0)))
    rows.validate(len(users), len(items))
    scale = Scale(*(float(meta["scale"][end]) for end in ("minimum", "maximum")))
    source = None if meta["source"] is None else Provenance.from_dict(meta["source"])
    return Observations(users, items, rows, scale, source)
