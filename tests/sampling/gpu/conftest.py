"""A GPU whose kernels run on the host."""

import sys

import pytest

from helpers import emulation
from helpers.host_cupy import host_cupy
from kolmogorov.execution import Cuda
from kolmogorov.sampling.gpu import chain as gpu_chain


@pytest.fixture
def cuda(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", host_cupy())
    monkeypatch.setattr(gpu_chain, "function", emulation.function)
    return Cuda()
