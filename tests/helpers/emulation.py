"""Kernels for GPUs, run on the host: built with the C++ compiler against `emulation.hpp`, called with NumPy arrays."""

import ctypes
import hashlib
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from kolmogorov.gpu.cuda import FOLDER

COMPILER = shutil.which("g++") or shutil.which("clang++")
HERE = Path(__file__).parent
BUILT = Path(tempfile.gettempdir()) / "kolmogorov-emulated-kernels"
KINDS = {
    "long long": ctypes.c_longlong,
    "unsigned long long": ctypes.c_ulonglong,
    "int": ctypes.c_int,
    "unsigned": ctypes.c_uint,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
}


def function(path: str, name: str, **constants: int):
    """Stand in for `Cuda.kernel`."""
    if COMPILER is None:
        pytest.skip("no C++ compiler to run GPU kernels on the host")
    return _Kernel(path, name, tuple(sorted(constants.items())))


class _Kernel:
    def __init__(self, path, name, constants):
        source = (FOLDER / path).read_text()
        signature = re.search(rf"__global__ void (?:__launch_bounds__\([^)]*\) )?{name}\(([^)]*)\)", source)
        self.parameters = [" ".join(p.split()) for p in signature[1].split(",")]
        self.call = getattr(_library(path, name, ", ".join(self.parameters), constants), f"run_{name}")
        self.max_dynamic_shared_size_bytes = 0

    def __call__(self, grid, block, args, shared_mem=0):
        assert shared_mem <= 4 << 17
        converted, alive = [], []
        for parameter, given in zip(self.parameters, args, strict=True):
            if "*" in parameter:
                assert given.flags.c_contiguous
                alive.append(given)
                converted.append(ctypes.c_void_p(given.ctypes.data))
            else:
                kind = parameter.replace("const ", "").rsplit(" ", 1)[0]
                assert not isinstance(given, (float, int)) or isinstance(given, bool) is False
                converted.append(KINDS[kind](np.asarray(given).item()))
        self.call(ctypes.c_int(int(np.prod(grid))), ctypes.c_int(int(np.prod(block))), *converted)


@cache
def _library(path, name, parameters, constants):
    names = ", ".join(re.search(r"(\w+)$", p)[1] for p in parameters.split(", "))
    text = f"""#include "emulation.hpp"
#include "{path}"
extern "C" void run_{name}(int blocks, int threads, {parameters}) {{
    emulation::launch(blocks, threads, [=] {{ {name}({names}); }});
}}
"""
    # What would be misaligned on a GPU ends the process here.
    flags = [
        "-O1",
        "-U_FORTIFY_SOURCE",
        "-std=c++17",
        "-fsanitize=alignment",
        "-fsanitize-undefined-trap-on-error",
        "-shared",
        "-fPIC",
        f"-I{FOLDER}",
        f"-I{HERE}",
    ]
    flags += [f"-D{key}={value}" for key, value in constants]
    parts = [text, *map(str, flags), (HERE / "emulation.hpp").read_text()]
    parts += [file.read_text() for file in sorted(FOLDER.rglob("*.cu*"))]
    key = hashlib.sha256("".join(parts).encode()).hexdigest()[:24]
    library = BUILT / f"{key}.so"
    if not library.exists():
        BUILT.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=BUILT) as folder:
            source = Path(folder) / "kernel.cpp"
            source.write_text(text)
            out = Path(folder) / "kernel.so"
            subprocess.run([COMPILER, *flags, str(source), "-o", str(out)], check=True)
            out.replace(library)
    return ctypes.CDLL(str(library))
