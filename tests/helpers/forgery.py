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

_NUMBERS = [np.nan, np.inf, -np.inf, -1, 0, 0.5, 2, 255, 1e9, 1e16, 1e200, 1e308, -1e308, 1e-320]
_NUMBERS += [2**31, 2**63 - 1, -(2**63)]
_LEAVES = [None, True, -1, 0, 1, 2, 2.5, 7, 10**9, 2**63, 1e308, "", "x", "../evil", "bernoulli", [], {}, [0], {"a": 1}]
_LEAVES += ["\ud800", "a\0b", 10**400, [0, 1], [0.0, 1.0]]
#: What a parameter or an option of a solver may be said to be: numbers that are sensible, and those far beyond.
_SIZES = [0, 1, 2, 3, 0.5, 1e-3, -1, 2**31, 2**62, 10**9, 10**400, 1e9, 1e12, 1e16, 1e308, 1e-320, True, None, "auto"]
_PARAMETERS = ["n_events", "levels", "max_iter", "n_init", "tol", "user_reg", "item_reg", "unobserved", "prior"]
_PARAMETERS += ["learn_from", "n_chains", "burn_in", "n_samples", "n_features", "likelihood", "keep_better", "reg"]
_PARAMETERS += ["max_seconds", "n_factors", "n_epochs", "rate"]
_SOLVERS = {
    "user_solver": [("simplex", name) for name in ("pairwise", "frank_wolfe", "active_set")],
    "item_solver": [
        *(("binary", name) for name in ("auto", "local_search", "branch_bound", "dmo", "exhaustive")),
        *(("binary", name) for name in ("gd", "enhanced_gd", "newton", "quasi_newton")),
        *(("levels", name) for name in ("coordinate", "exhaustive", "branch_bound")),
        ("box", "coordinate"),
    ],
    "ridge_solver": [("ridge", "cholesky")],
}
_OPTIONS = ["max_iter", "tol", "n_starts", "tabu_moves", "time_limit", "max_nodes", "gamma", "n_draws", "step"]
_OPTIONS += ["shrink", "armijo", "initial_dual", "a", "trace", "away_steps", "thorough", "k"]
_DTYPES = ["float64", "float32", "int64", "int32", "uint16", "uint8"]
_NAMES = ["checkpoint", "random_state", "callback", "execution", "n_jobs", "n_events", "levels", "__class__", "x"]


def mutated(rng, content):
    """Return a file with one to three random lies and, most of the time, right checksums."""
    if rng.random() < 0.05:
        return _damaged(rng, content)
    try:
        return forged(content, lambda meta, arrays: _lie(rng, meta, arrays), lambda f: _lie_about(rng, f))
    except (ValueError, OverflowError, TypeError):
        return _damaged(rng, content)


def _damaged(rng, content):
    changed = bytearray(content)
    if rng.random() < 0.5:
        return bytes(changed[: rng.integers(len(changed))])
    changed[rng.integers(len(changed))] ^= int(rng.integers(1, 256))
    return bytes(changed)


def _lie(rng, meta, arrays):
    for _ in range(_one_of(rng, [1, 1, 2, 3])):
        how = rng.random()
        if how < 0.2:
            _change_leaf(rng, meta)
        elif how < 0.45 and isinstance(meta.get("parameters"), dict):
            _change_parameter(rng, meta["parameters"])
        else:
            _change_array(rng, arrays)


def _change_parameter(rng, parameters):
    """Say something else of how the model was fitted: what later calls believe, and may repeat."""
    how = rng.random()
    if how < 0.5:
        known = [name for name in _PARAMETERS if name in parameters] or ["x"]
        parameters[str(rng.choice(known))] = _one_of(rng, _SIZES)
    elif how < 0.9:
        role = str(rng.choice([name for name in _SOLVERS if name in parameters] or ["user_solver"]))
        parameters[role] = _solver(rng, role)
    else:
        parameters[str(rng.choice(list(parameters)))] = _nested(rng, _one_of(rng, _LEAVES))


def _one_of(rng, choices):
    return choices[rng.integers(len(choices))]


def _solver(rng, role):
    """Return a solver with odd options, and some of the time with wrappers around it, many of them now and then."""
    family, name = _one_of(rng, _SOLVERS[role])
    options = {str(rng.choice(_OPTIONS)): _one_of(rng, _SIZES) for _ in range(rng.integers(3))}
    found = {"family": family, "solver": name, "options": options}
    if family == "binary" and rng.random() < 0.4:
        for _ in range(_one_of(rng, [1, 2, 3, 12, 300])):
            wrapper = _one_of(rng, ["best_of", "polished", "recorded"])
            inner = {"solver": found} | ({"k": _one_of(rng, [1, 2, 10**9])} if wrapper == "best_of" else {})
            found = {"family": "binary", "solver": wrapper, "options": inner}
    return found


def _nested(rng, leaf):
    for _ in range(_one_of(rng, [2, 30, 300])):
        leaf = [leaf] if rng.random() < 0.5 else {"options": leaf}
    return leaf


def _change_array(rng, arrays):
    name = str(rng.choice(list(arrays)))
    array = arrays[name]
    how = rng.integers(10)
    if how == 9 and array.dtype.kind == "f":
        # Every number of an array at once: of one size, or all of them so many times as large.
        with np.errstate(all="ignore"):
            size = _one_of(rng, [1e308, -1e308, 1e200, 1e16, 1e12, 1e-12, 1e-320])
            array[...] = size if rng.random() < 0.5 else array * size
    elif how <= 2 and array.size:
        place = rng.integers(array.size)
        with np.errstate(all="ignore"):
            number = _NUMBERS[rng.integers(len(_NUMBERS))]
            if array.dtype.kind in "iu":
                number = int(np.clip(np.nan_to_num(number, nan=3), *_range(array.dtype)))
            array.reshape(-1)[place] = number
    elif how == 3:
        with np.errstate(all="ignore"):
            arrays[name] = np.nan_to_num(array).astype(str(rng.choice(_DTYPES)))
    elif how == 4 and array.size:
        arrays[name] = np.ascontiguousarray(array[: rng.integers(len(array))])
    elif how == 5:
        arrays[name] = np.concatenate([array, array[: rng.integers(len(array) + 1)]])
    elif how == 6:
        arrays[name] = arrays[str(rng.choice(list(arrays)))].copy()
    elif how == 7 and array.size > 4 and array.dtype == np.int64:
        # Differences of neighbours overflow to what a rising sequence would have.
        place = rng.integers(1, array.size - 3)
        array.reshape(-1)[place : place + 3] = [2**63 - 1, -(2**63), -1]
    elif how == 8 and array.size:
        flat = array.reshape(-1)
        flat[:] = rng.permutation(flat) if rng.random() < 0.5 else flat[::-1].copy()
    else:
        del arrays[name]


def _range(dtype):
    info = np.iinfo(dtype)
    return int(info.min), int(info.max) if info.bits < 64 else 2**63 - 1


def _change_leaf(rng, node):
    """Walk down at random and replace, remove or add something."""
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            break
        key = keys[rng.integers(len(keys))]
        inner = node[key]
        if isinstance(inner, (dict, list)) and len(inner) and rng.random() < 0.8:
            node = inner
            continue
        if rng.random() < 0.15:
            del node[key]
        else:
            node[key] = _LEAVES[rng.integers(len(_LEAVES))]
        break
    if isinstance(node, dict) and rng.random() < 0.2:
        node[str(rng.choice(_NAMES))] = _LEAVES[rng.integers(len(_LEAVES))]


def _lie_about(rng, footer):
    if rng.random() < 0.75:
        return
    name = str(rng.choice(list(footer["sections"])))
    section = footer["sections"][name]
    how = rng.integers(5)
    if how == 0:
        section["offset"] = int(rng.choice([0, 8, 64, 4096, 10**15, int(rng.integers(10_000))]))
    elif how == 1:
        section["shape"] = [int(rng.choice([0, 1, 3, 10**6, 2**40, 2**47])) for _ in range(rng.integers(1, 5))]
    elif how == 2:
        section["dtype"] = str(rng.choice([*_DTYPES, "object", "complex128"]))
    elif how == 3:
        _change_leaf(rng, footer)
    else:
        footer["sections"][str(rng.choice(_NAMES))] = dict(section)
