"""Files of this package as rows of text."""

from __future__ import annotations

import csv
import lzma
from importlib.resources import files


def rows_of(name: str) -> list[list[str]]:
    """Return the rows of a bundled file, its header first; compressed where the name ends in .xz."""
    data = files("kolmogorov.data.datasets").joinpath("files", name).read_bytes()
    text = (lzma.decompress(data) if name.endswith(".xz") else data).decode("utf-8")
    return list(csv.reader(text.splitlines()))
