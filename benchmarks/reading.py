"""Seconds to read a million lines of user,item,rating, beside pandas; both in turns, imports not timed.

    python benchmarks/reading.py

pandas reads ids as texts and numbers them, which is what `read_ratings` begins with.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness import Column, Table, finish, machine, ratio

import kolmogorov as km

LINES, USERS, ITEMS = 1_000_000, 70_000, 10_000


def numbered(path: Path) -> Any:
    """Read a file with pandas, ids as texts, and number them."""
    frame = pd.read_csv(path, dtype={"user": str, "item": str})
    return pd.factorize(frame["user"]), pd.factorize(frame["item"]), frame["rating"].to_numpy()


def written(folder: str) -> dict[str, Path]:
    """Write the same ratings as kinds of files."""
    rng = np.random.default_rng(0)
    # Users are drawn alike, items by popularity; pairs are distinct.
    pairs = np.unique(rng.integers(0, USERS, 2 * LINES) * ITEMS + (rng.random(2 * LINES) ** 3 * ITEMS).astype(np.int64))
    pairs = rng.permutation(pairs)[:LINES]
    ratings = rng.integers(1, 11, LINES) / 2
    frame = pd.DataFrame({"user": pairs // ITEMS, "item": pairs % ITEMS, "rating": ratings})
    files = {name: Path(folder, name) for name in ("numbers.csv", "words.csv", "numbers.csv.gz")}
    frame.to_csv(files["numbers.csv"], index=False)
    frame.to_csv(files["numbers.csv.gz"], index=False)
    words = {side: side + "-" + frame[side].astype(str) for side in ("user", "item")}
    frame.assign(**words).to_csv(files["words.csv"], index=False)
    return files


def main() -> None:
    """Read each kind of file in turns."""
    print(machine())
    columns = [Column("a million lines, ids are"), Column("`read_ratings`, seconds", ".2f")]
    columns += [Column("pandas and two `factorize`, seconds", ".2f"), Column("ratio", ".2f")]
    command = "python benchmarks/reading.py"
    results = Table("reading", f"{LINES:,} ratings, {USERS:,} users, {ITEMS:,} items", command, columns)
    kinds = {"numbers.csv": "whole numbers", "words.csv": "words", "numbers.csv.gz": "whole numbers, packed with gzip"}
    with tempfile.TemporaryDirectory() as folder:
        for name, path in written(folder).items():
            found = km.read_ratings(path, maximum=5)
            assert len(found) == LINES
            ours, theirs, times = ratio(
                lambda path=path: km.read_ratings(path, maximum=5), lambda path=path: numbered(path), 5
            )
            results.add(kinds[name], ours.median, theirs.median, times)
    finish(results, complete=len(sys.argv) == 1)


if __name__ == "__main__":
    main()
