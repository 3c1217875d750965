"""A stand-in for CuPy that is the host: NumPy, and streams in which everything has happened already."""

from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace

import numpy as np


class _Quiet:
    def __init__(self, *args, **options):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def synchronize(self):
        pass


class _Pool:
    def free_all_blocks(self):
        pass

    def free_bytes(self):
        return 0


class OutOfMemoryError(MemoryError):
    pass


class CUDARuntimeError(RuntimeError):
    pass


class CompileException(Exception):
    pass


def host_cupy(*, memory: int = 1 << 30, capability: tuple[int, int] = (9, 0)) -> ModuleType:
    """Make the module."""
    module = ModuleType("cupy")
    module.__spec__ = ModuleSpec("cupy", None)
    module.__getattr__ = lambda name: getattr(np, name)
    module.asnumpy = np.asarray
    module.get_default_memory_pool = _Pool
    runtime = SimpleNamespace(
        CUDARuntimeError=CUDARuntimeError,
        getDeviceCount=lambda: 1,
        getDeviceProperties=lambda device: {
            "name": b"host",
            "major": capability[0],
            "minor": capability[1],
            "totalGlobalMem": memory,
        },
        memGetInfo=lambda: (memory, memory),
        driverGetVersion=lambda: 12090,
        runtimeGetVersion=lambda: 12090,
    )
    module.cuda = SimpleNamespace(
        runtime=runtime,
        memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
        compiler=SimpleNamespace(CompileException=CompileException),
        Device=_Quiet,
        get_current_stream=_Quiet,
    )
    return module
