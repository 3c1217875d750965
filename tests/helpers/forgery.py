"""Files that lie: taken apart, altered, and put together again with right checksums, as an attacker would."""

from __future__ import annotations

import hashlib
import json
import struct

import numpy as np

HEAD = struct.Struct("<8sI")
TAIL = struct.Struct("<Q32s8s")


def parts_of(content):
    """Return (head, footer, arrays by name) of a container."""
    length, _, _ = TAIL.unpack(content[-TAIL.size :])
    footer = json.loads(content[-TAIL.size - length : -TAIL.size])
    arrays = {}
    for name, entry in footer["sections"].items():
        count = int(np.prod(entry["shape"], dtype=int))
        arrays[name] = np.frombuffer(content, entry["dtype"], count, entry["offset"]).reshape(entry["shape"]).copy()
    return content[: HEAD.size], footer, arrays


def assembled(head, footer, arrays, alignment=64):
    """Put a container together; the sections of `footer` are made again from the arrays."""
    body, sections = bytearray(head), {}
    for name, array in arrays.items():
        body += bytes(-len(body) % alignment)
        data = np.ascontiguousarray(array).tobytes()
        sections[name] = {
            "dtype": array.dtype.name,
            "shape": list(array.shape),
            "offset": len(body),
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        body += data
    body += bytes(-len(body) % alignment)
    return bytes(body), footer | {"sections": sections, "end": len(body)}


def closed(body, footer):
    """Add a footer and its checksum."""
    text = footer if isinstance(footer, bytes) else json.dumps(footer).encode()
    return body + text + TAIL.pack(len(text), hashlib.sha256(text).digest(), body[:8])


def forged(content, change_parts=None, change_footer=None):
    """Alter the meta and the arrays, then what the footer says of them; right checksums in any case.

    `change_parts(meta, arrays)` and `change_footer(footer)` alter in place, or return what to use instead.
    """
    head, footer, arrays = parts_of(content)
    if change_parts is not None:
        change_parts(footer["meta"], arrays)
    body, footer = assembled(head, footer, arrays)
    if change_footer is not None:
        footer = change_footer(footer) or footer
    return closed(body, footer)


# --- about titles --------------------------------------------------------------------------------------------------


def _ends(change):
    def lie(meta, arrays):
        arrays["items_labels_ends"] = change(arrays["items_labels_ends"])

    return lie


def _bytes(change):
    def lie(meta, arrays):
        arrays["items_labels_bytes"] = change(arrays["items_labels_bytes"])

    return lie


def _without(name):
    def lie(meta, arrays):
        del arrays[name]

    return lie


#: What a file may say of the titles of its items that is not true; each must be refused.
TITLE_LIES = {
    "one too few": _ends(lambda ends: ends[:-1].copy()),
    "one too many": _ends(lambda ends: np.append(ends, ends[-1:])),
    "ends that fall": _ends(lambda ends: ends[::-1].copy()),
    "an end before the beginning": _ends(lambda ends: np.concatenate([[-1], ends[1:]])),
    "an end beyond the bytes": _ends(lambda ends: ends + 1),
    "ends that are no whole numbers": _ends(lambda ends: ends + 0.5),
    "bytes that are no text": _bytes(lambda content: np.full_like(content, 255)),
    "no bytes": _bytes(lambda content: content[:0].copy()),
    "bytes without ends": _without("items_labels_bytes"),
}


# --- at random -----------------------------------------------------------------------------------------------------

_NUMBERS = [np.nan, np.inf, -np.inf, -1, 0, 0.5, 2, 255, 1e9, 1e200, 1e308, -1e308, 1e-320, 2**31, -(2**63)]
_LEAVES = [
    None,
    True,
    -1,
    0,
    1,
    2.5,
    7,
    10**9,
    2**63,
    1e308,
    "",
    "x",
    "../evil",
    [],
    {},
    [0],
    {"a": 1},
    "a\0b",
    10**400,
]
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

    return forged(content, lie, lambda footer: _change_leaf(rng, footer) if rng.random() < 0.2 else None)


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
