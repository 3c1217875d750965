"""A GPU that is the host, for tests of everything around the kernels and of the kernels themselves."""

import sys

import pytest

from helpers import emulation
from helpers.host_cupy import host_cupy
from kolmogorov.execution import Cuda
from kolmogorov.execution.gpu import table as gpu_table
from kolmogorov.fitting.gpu import equations, factors, half_step, solvers
from kolmogorov.surface import gpu as surface


@pytest.fixture
def cupy(monkeypatch):
    module = host_cupy()
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


@pytest.fixture
def cuda(cupy, monkeypatch):
    """The GPU, with small segments and batches so that small tables have many."""
    if emulation.COMPILER is None:
        pytest.skip("no C++ compiler to run GPU kernels on the host")
    for module in (equations, factors, half_step, solvers, surface):
        monkeypatch.setattr(module, "function", emulation.function)
    monkeypatch.setattr(gpu_table, "SEGMENT", 16)
    monkeypatch.setattr(equations, "BATCH", 1 << 14)
    monkeypatch.setattr(surface, "WORTH_PAIRS", 1)
    monkeypatch.setattr(surface, "WORTH_SCORES", 1)
    return Cuda()
