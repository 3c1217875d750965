"""Files that lie: taken apart, altered, and put together again with right checksums, as an attacker would."""

import io
import json
import warnings
import zipfile

import numpy as np


def parts_of(content):
    """Return (what it says in JSON, arrays by name) of a file."""
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        arrays = dict(stored)
    return json.loads(arrays.pop("about").tobytes()), arrays


def forged(content, change_parts=None, change_json=None):
    """Alter what a file says and its arrays; right checksums in any case.

    `change_parts(meta, arrays)` alters in place; so does `change_json(meta)`, or returns bytes to use instead.
    """
    meta, arrays = parts_of(content)
    if change_parts is not None:
        change_parts(meta, arrays)
    if change_json is not None:
        found = change_json(meta)
        meta = found if isinstance(found, bytes) else meta
    text = meta if isinstance(meta, bytes) else json.dumps(meta).encode()
    np.savez(stream := io.BytesIO(), about=np.frombuffer(text, np.uint8), **arrays)
    return stream.getvalue()


def archived(content, part, change, **how):
    """Return a file one part of which, such as "theta.npy", is other bytes or there twice; zip says the rest."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive, warnings.catch_warnings(action="ignore"):
        for own, data in members:
            options = how if own == part else {}
            for written in change(data) if own == part else [data]:
                archive.writestr(options.get("name", own), written, options.get("compression", zipfile.ZIP_STORED))
    return stream.getvalue()


def npy(array, **lies):
    """Return an array as NumPy writes it, with a header that says something else."""
    says = np.lib.format.header_data_from_array_1_0(array) | lies
    text = repr(says).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + array.tobytes()


# --- about titles --------------------------------------------------------------------------------------------------


def _ends(change):
    def lie(meta, arrays):
        arrays["items_labels_ends"] = change(arrays["items_labels_ends"])

    return lie


def _bytes(change):
    def lie(meta, arrays):
        arrays["items_labels_bytes"] = change(arrays["items_labels_bytes"])

    return lie


#: What a file may say of the titles of its items that is not true; each must be refused.
TITLE_LIES = {
    "one too few": _ends(lambda ends: ends[:-1]),
    "one too many": _ends(lambda ends: np.append(ends, ends[-1:])),
    "ends that fall": _ends(lambda ends: ends[::-1]),
    "an end before the beginning": _ends(lambda ends: np.concatenate([[-1], ends[1:]])),
    "an end beyond the bytes": _ends(lambda ends: ends + 1),
    "ends that are no whole numbers": _ends(lambda ends: ends + 0.5),
    "bytes that are no text": _bytes(lambda content: np.full_like(content, 255)),
    "no bytes": _bytes(lambda content: content[:0]),
    "ends without bytes": lambda meta, arrays: arrays.pop("items_labels_bytes"),
}


# --- at random -----------------------------------------------------------------------------------------------------

_NUMBERS = [np.nan, np.inf, -np.inf, -1, 0, 0.5, 2, 255, 1e9, 1e200, 1e308, -1e308, 1e-320, 2**31, -(2**63)]
_LEAVES = [None, True, -1, 0, 1, 2.5, 7, 10**9, 2**63, 1e308, 10**400]
_LEAVES += ["", "x", "../evil", "a\0b", [], {}, [0], {"a": 1}]
_DTYPES = ["float64", "float32", "int64", "int32", "uint16", "uint8"]


def mutated(rng, content):
    """Return a file with one to three random lies and right checksums; now and then one that was cut or altered."""
    if rng.random() < 0.05:
        changed = bytearray(content[: rng.integers(1, len(content) + 1)])
        changed[rng.integers(len(changed))] ^= 0x55
        return bytes(changed)

    def lie(meta, arrays):
        for _ in range(rng.integers(1, 4)):
            if rng.random() < 0.4:
                _change_leaf(rng, meta)
            else:
                _change_array(rng, arrays)

    return forged(content, lie)


def _change_array(rng, arrays):
    name = str(rng.choice(list(arrays)))
    array = arrays[name]
    how = rng.integers(8)
    with np.errstate(all="ignore"):
        if how < 3 and array.size:
            number = _NUMBERS[rng.integers(len(_NUMBERS))]
            if array.dtype.kind in "iu":
                info = np.iinfo(array.dtype)
                number = int(np.clip(np.nan_to_num(number, nan=3), info.min, min(info.max, 2**62)))
            array.reshape(-1)[slice(None) if how == 2 else rng.integers(array.size)] = number
        elif how == 3:
            arrays[name] = np.nan_to_num(array).astype(str(rng.choice(_DTYPES)))
        elif how == 4 and array.size:
            arrays[name] = np.ascontiguousarray(array[: rng.integers(len(array))])
        elif how == 5 and array.size:
            array.reshape(-1)[:] = rng.permutation(array.reshape(-1))
        elif how == 6 and array.size > 4 and array.dtype == np.int64:
            # Differences of neighbours overflow to what a rising sequence would have.
            place = rng.integers(1, array.size - 3)
            array.reshape(-1)[place : place + 3] = [2**63 - 1, -(2**63), -1]
        elif how == 7:
            del arrays[name]
        else:
            arrays[name] = arrays[str(rng.choice(list(arrays)))].copy()


def _change_leaf(rng, node):
    """Walk down at random, and replace or remove something; return None."""
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return
        key = keys[rng.integers(len(keys))]
        if isinstance(node[key], (dict, list)) and len(node[key]) and rng.random() < 0.8:
            node = node[key]
            continue
        if rng.random() < 0.15:
            del node[key]
        else:
            node[key] = _LEAVES[rng.integers(len(_LEAVES))]
        return
