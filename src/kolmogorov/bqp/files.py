"""Problems from files: the Biq Mac sparse format, and NumPy archives."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import numpy as np

from kolmogorov.errors import FileFormatError
from kolmogorov.problems import BinaryQP


def read(path: str | os.PathLike[str]) -> BinaryQP:
    """Read a problem: ``.npz`` with arrays S and v (v may be missing), anything else as Biq Mac sparse text.

    The text's first line holds the number of variables and of entries; every further line "i j q" an entry, counted
    from 1. An off-diagonal line stands for both q_ij and q_ji. The problem is to minimise x^T Q x.
    """
    file = Path(path)
    try:
        return _read_arrays(file) if file.suffix == ".npz" else _read_sparse(file)
    except FileNotFoundError:
        raise FileFormatError(f"There is no file {path}.") from None
    except IsADirectoryError:
        raise FileFormatError(f"{path} is a directory.") from None


def _read_arrays(path: Path) -> BinaryQP:
    try:
        with np.load(path, allow_pickle=False) as content:
            names = {name.lower(): name for name in content.files}
            gram = names.get("s") or names.get("gram")
            moment = names.get("v") or names.get("moment")
            if gram is None:
                raise FileFormatError(f"{path} must hold an array S (and v), it holds: {', '.join(content.files)}.")
            matrix = content[gram]
            return BinaryQP(matrix, content[moment] if moment else np.zeros(len(matrix)))
    except (zipfile.BadZipFile, EOFError, OSError, TypeError) as error:
        if isinstance(error, (FileNotFoundError, FileFormatError)):
            raise
        raise FileFormatError(f"{path} is not an archive of arrays: {error}.") from None
    except ValueError as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"{path}: {error}") from None


def _read_sparse(path: Path) -> BinaryQP:
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except UnicodeDecodeError:
        raise FileFormatError(f"{path} is not a text file of numbers.") from None
    rows = [(number, line.split()) for number, line in enumerate(lines, start=1) if line.strip()]
    if not rows:
        raise FileFormatError(f"{path} is empty.")
    number, first = rows[0]
    try:
        size, entries = (int(field) for field in first)
    except ValueError:
        raise FileFormatError(f"{path}, line {number}: expected two integers, got {' '.join(first)!r}.") from None
    if size < 1 or entries != len(rows) - 1:
        raise FileFormatError(f"{path}: line {number} announces {entries} entries, {len(rows) - 1} follow.")
    matrix = np.zeros((size, size))
    for number, fields in rows[1:]:
        try:
            i, j, value = int(fields[0]), int(fields[1]), float(fields[2])
        except (ValueError, IndexError):
            raise FileFormatError(f"{path}, line {number}: expected 'i j q', got {' '.join(fields)!r}.") from None
        if not (1 <= i <= size and 1 <= j <= size) or len(fields) != 3:
            raise FileFormatError(f"{path}, line {number}: indices must lie between 1 and {size}, got {i} and {j}.")
        matrix[i - 1, j - 1] = matrix[j - 1, i - 1] = value
    return BinaryQP(matrix, np.zeros(size))
