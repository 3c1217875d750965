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
    return bytes(body), footer | {"sections": sections}


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
    if footer["kind"] == "table" and change_parts is not None:
        _sign_table(footer["meta"], arrays)
    alignment = 4096 if footer["kind"] == "table" else 64
    body, footer = assembled(head, footer, arrays, alignment)
    if change_footer is not None:
        footer = change_footer(footer) or footer
    return closed(body, footer)


def _sign_table(meta, arrays):
    """Give a table the fingerprint of its arrays, where that can be computed."""
    try:
        scale = meta["scale"]
        low, high = scale["minimum"], scale["maximum"]
        if low == 0.0:
            text = "p = r" if high == 1.0 else f"p = r / {high:g}"
        else:
            text = f"p = (r - {low:g}) / {high - low:g}"
        parts = [arrays[f"rows_{name}"].tobytes() for name in ("indptr", "indices", "values", "weights")]
        digests = b"".join(hashlib.sha256(part).digest() for part in parts)
        meta["fingerprint"] = hashlib.sha256(
            f"{meta['n_users']} {meta['n_items']} {text}".encode() + digests
        ).hexdigest()
    except (KeyError, TypeError, ValueError):
        pass
