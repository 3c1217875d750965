"""Kernels of a GPU, run without one: their `.cu` files built by g++ with fibers for threads."""

import ctypes
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from kolmogorov.kernels.device import FOLDER

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ builds the kernels for the emulation")

_HERE = Path(__file__).parent
_SIGNATURE = re.compile(r'extern "C" __global__ void (\w+)\(([^)]*)\)')
_BUILT = {}


class Stand:
    """What the sampler uses of CuPy, on NumPy's arrays."""

    empty, zeros, asarray = staticmethod(np.empty), staticmethod(np.zeros), staticmethod(np.array)

    @staticmethod
    def asnumpy(array):
        return array.copy()


def emulated(folder):
    """Return a stand-in for `kernels.device.function`, which builds in a folder."""

    @cache
    def function(path, name, **constants):
        source = (FOLDER / path).read_text(encoding="utf-8")
        key = (path, tuple(sorted(constants.items())))
        if key not in _BUILT:
            _BUILT[key] = _built(folder, path, source, constants)
        launch = getattr(_BUILT[key], f"launch_{name}")

        def run(grid, block, given):
            held = [_word(value) for value in given]
            words = (ctypes.c_void_p * len(held))(*(ctypes.addressof(value) for value in held))
            launch((ctypes.c_uint * 3)(*grid, *[1] * (3 - len(grid))), (ctypes.c_uint * 3)(*block, *[1] * (3 - len(block))), words)

        return run

    return function


def _word(value):
    """Return a kernel's argument as the bytes that it is passed as."""
    if isinstance(value, np.ndarray):
        assert value.flags.c_contiguous
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.create_string_buffer(np.asarray(value).tobytes(), 8)


def _built(folder, path, source, constants):
    tag = re.sub(r"\W", "_", path) + "_" + "_".join(f"{k}{v}" for k, v in sorted(constants.items()))
    lines = [f'#include "{_HERE / "device.hpp"}"', f'#include "{path}"']
    for name, parameters in _SIGNATURE.findall(source):
        types = [re.sub(r"\w+$", "", parameter.strip()).strip() for parameter in parameters.split(",")]
        given = ", ".join(f"*({kind}*)words[{k}]" for k, kind in enumerate(types))
        lines.append(
            f'extern "C" void launch_{name}(const unsigned* grid, const unsigned* block, void** words) {{ '
            "emulation::launch({grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, "
            f"[=] {{ {name}({given}); }}); }}"
        )
    unit, library = Path(folder) / f"{tag}.cpp", Path(folder) / f"{tag}.so"
    unit.write_text("\n".join(lines))
    flags = ["-std=c++17", "-O1", "-w", "-fPIC", "-shared", "-U_FORTIFY_SOURCE", f"-I{FOLDER}"]
    defines = [f"-D{name}={value}" for name, value in constants.items()]
    subprocess.run(["g++", *flags, *defines, str(unit), "-o", str(library)], check=True, capture_output=True, text=True)
    return ctypes.CDLL(str(library))
