"""Problems from files: the Biq Mac sparse format, and NumPy archives."""

from __future__ import annotations

import os
import zipfile
import zlib
from pathlib import Path

import numpy as np

from kolmogorov.errors import DataError, FileFormatError
from kolmogorov.problems import BinaryQP
from kolmogorov.problems.quadratic import MOST_VARIABLES


def read(path: str | os.PathLike[str]) -> BinaryQP:
    """Read a problem: ``.npz`` with arrays S, v and offset, else text in Biq Mac's sparse format.

    In an ``.npz`` v and offset may be missing.
    The text's first line holds the number of variables and of entries; every further line "i j q" an entry, counted
    from 1. An off-diagonal line stands for both q_ij and q_ji. The problem is to minimise x^T Q x.
    """
    try:
        file = Path(path)
    except TypeError:
        raise FileFormatError(f"The path of a file is expected, got {path!r}.") from None
    try:
        return _read_arrays(file) if file.suffix == ".npz" else _read_sparse(file)
    except FileNotFoundError:
        raise FileFormatError(f"There is no file {path}.") from None
    except IsADirectoryError:
        raise FileFormatError(f"{path} is a directory.") from None
    except DataError as error:
        raise FileFormatError(f"{path}: {error}") from None
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror or error}.") from None


def _read_arrays(path: Path) -> BinaryQP:
    try:
        with np.load(path, allow_pickle=False) as content:
            names = {name.lower(): name for name in content.files}
            gram = names.get("s") or names.get("gram")
            moment = names.get("v") or names.get("moment")
            if gram is None:
                raise FileFormatError(f"{path} must hold an array S (and v), it holds: {', '.join(content.files)}.")
            matrix = content[gram]
            offset = content["offset"] if "offset" in content.files else 0.0
            return BinaryQP(matrix, content[moment] if moment else np.zeros(matrix.shape[:1]), offset)
    except MemoryError:
        raise FileFormatError(f"{path} announces arrays that do not fit in memory.") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, TypeError, RuntimeError) as error:
        if isinstance(error, (FileNotFoundError, PermissionError, FileFormatError)):
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
    if not 1 <= size <= MOST_VARIABLES:
        raise FileFormatError(f"{path}, line {number}: expected 1 to {MOST_VARIABLES} variables, got {size}.")
    if entries != len(rows) - 1:
        raise FileFormatError(f"{path}: line {number} announces {entries} entries, {len(rows) - 1} follow.")
    matrix = np.zeros((size, size))
    seen: set[tuple[int, int]] = set()
    for number, fields in rows[1:]:
        try:
            left, right, text = fields
            i, j, value = int(left), int(right), float(text)
        except ValueError:
            raise FileFormatError(f"{path}, line {number}: expected 'i j q', got {' '.join(fields)!r}.") from None
        if not (1 <= i <= size and 1 <= j <= size):
            raise FileFormatError(f"{path}, line {number}: indices must lie between 1 and {size}, got {i} and {j}.")
        if not np.isfinite(value):
            raise FileFormatError(f"{path}, line {number}: an entry must be finite, got {text}.")
        if (min(i, j), max(i, j)) in seen:
            raise FileFormatError(f"{path}, line {number}: entry ({i}, {j}) is a duplicate.")
        seen.add((min(i, j), max(i, j)))
        matrix[i - 1, j - 1] = matrix[j - 1, i - 1] = value
    return BinaryQP(matrix, np.zeros(size))
