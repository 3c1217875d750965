"""Kernels on a GPU: the `.cu` files beside the compiled functions of the same names, built at their first call."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from kolmogorov._support.optional import require
from kolmogorov._support.progress import notice

FOLDER = Path(__file__).parent


def function(path: str, name: str, **constants: int) -> Any:
    """Return the kernel `name` of the file `path` in this folder, built for the current GPU with some constants.

    CuPy keeps what was built on disk, so that this takes a second or so once per machine.
    """
    cupy = require("cupy", extra="cuda", purpose="A GPU")
    return _built(cupy.cuda.Device().id, path, tuple(sorted(constants.items()))).get_function(name)


@cache
def _built(gpu: int, path: str, constants: tuple[tuple[str, int], ...]) -> Any:
    if not _built.cache_info().currsize:
        notice("compiling kernels for this GPU; once per installation, some seconds")
    cupy = require("cupy", extra="cuda", purpose="A GPU")
    options = ("--std=c++17", f"-I{FOLDER}", *(f"-D{name}={value}" for name, value in constants))
    return cupy.RawModule(code=(FOLDER / path).read_text(encoding="utf-8"), options=options)
