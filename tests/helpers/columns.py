"""Ratings in columns of every type that Arrow has, now and then in a parquet file that was damaged."""

from __future__ import annotations

import datetime
import decimal

import numpy as np


def odd_columns(rng, folder):
    """Write a table with odd columns to a file, a stream of Arrow or a parquet file; return its path."""
    import pyarrow as pa
    from pyarrow import parquet

    n = int(rng.integers(0, 9))
    columns = {
        "user": pa.array([f"u{k}" for k in range(n)]),
        "item": pa.array(np.arange(n)),
        "value": pa.array(rng.integers(0, 2, n).astype(float)),
    }
    for _ in range(rng.integers(3)):
        columns[str(rng.choice(list(columns)))] = _column(rng, n)
    table = pa.table(columns)
    if rng.random() < 0.6:
        path = folder / "odd.parquet"
        try:
            parquet.write_table(table, path)
        except (pa.ArrowException, pa.ArrowNotImplementedError):
            pass
        else:
            if rng.random() < 0.6:
                path.write_bytes(_damaged(rng, path.read_bytes()))
            return path
    path = folder / "odd.arrows"
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)
    return path


def _damaged(rng, content):
    changed = bytearray(content)
    if rng.random() < 0.2:
        return bytes(changed[: rng.integers(len(changed))])
    for _ in range(rng.integers(1, 5)):
        changed[rng.integers(len(changed))] = int(rng.integers(256))
    return bytes(changed)


def _column(rng, n):
    """Return a column of some type; with gaps in one of four."""
    import pyarrow as pa

    kinds = _kinds(pa)
    kind, cell = kinds[rng.integers(len(kinds))]
    cells = [None if rng.random() < 0.05 else cell(int(rng.integers(4))) for _ in range(n)]
    if rng.random() < 0.75:
        cells = [cell(0) if one is None else one for one in cells]
    column = pa.array(cells, kind)
    how = rng.random()
    if how < 0.15 and n:
        ends = pa.array(np.arange(1, n + 1), pa.int32())
        return pa.RunEndEncodedArray.from_arrays(ends, column)
    if how < 0.3 and n and not pa.types.is_nested(kind) and not _is_view(pa, kind):
        return column.dictionary_encode()
    if how < 0.4 and n:
        places = pa.array(rng.integers(0, n, n), pa.int32())
        return pa.DictionaryArray.from_arrays(places, column)
    return column


def _is_view(pa, kind):
    return kind in (pa.string_view(), pa.binary_view())


def _kinds(pa):
    """Return types of columns, each with what makes a cell of a small number."""
    numbers = [pa.int8(), pa.uint8(), pa.int32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64()]
    texts = [pa.string(), pa.large_string(), pa.string_view()]
    raw = [pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(2)]
    day = datetime.date(2020, 1, 1)
    return [
        *((kind, int) for kind in numbers),
        *((kind, str) for kind in texts),
        *((kind, lambda k: ["yes", "no", "\0", ""][k]) for kind in texts),
        *((kind, lambda k: [b"ab", b"\xff\xff", b"12", b"\0\0"][k]) for kind in raw),
        (pa.float64(), lambda k: [np.nan, np.inf, 1e308, -1e-320][k]),
        (pa.int64(), lambda k: [2**62, -(2**63), 2**53 + 1, 0][k]),
        (pa.uint64(), lambda k: 2**64 - 1 - k),
        (pa.float16(), np.float16),
        (pa.bool_(), bool),
        (pa.null(), lambda k: None),
        (pa.decimal128(20, 2), lambda k: decimal.Decimal(k)),
        (pa.decimal256(60, 2), lambda k: decimal.Decimal(k)),
        (pa.date32(), lambda k: day),
        (pa.timestamp("ns"), lambda k: datetime.datetime(2020, 1, 1 + k)),
        (pa.duration("s"), lambda k: datetime.timedelta(k)),
        (pa.month_day_nano_interval(), lambda k: pa.MonthDayNano([k, k, k])),
        (pa.list_(pa.int64()), lambda k: [k]),
        (pa.list_view(pa.int64()), lambda k: [k]),
        (pa.list_(pa.int64(), 2), lambda k: [k, k]),
        (pa.struct([("a", pa.int64())]), lambda k: {"a": k}),
        (pa.map_(pa.string(), pa.int64()), lambda k: [("a", k)]),
    ]
