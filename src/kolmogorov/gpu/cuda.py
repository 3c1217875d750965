"""An NVIDIA GPU: what was found, how much it holds, the kernels that are built for it, and what is said without one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from kolmogorov._support.display import notice
from kolmogorov._support.outside import require
from kolmogorov._support.validation import byte_count, check_parameters, integer
from kolmogorov.errors import ExecutionError

#: Where the `.cu` files are, beside this file.
FOLDER = Path(__file__).parent

#: Share of the free memory of a GPU that a fit takes; by judgement.
_SHARE = 0.9
#: The oldest GPUs whose tensor cores take the numbers that kernels give them.
_LEAST_CAPABILITY = 8.0


class Cuda:
    """Run fits on an NVIDIA GPU (extra ``cuda``).

    Parameters
    ----------
    number : int
        Number of the GPU, where there are several.
    memory : int or str, optional
        Bytes of its memory to use at most, such as ``"8GB"``; by default nine tenths of what is free.

    Examples
    --------
    >>> model = KolmogorovModel(16, execution=Cuda())  # doctest: +SKIP
    """

    def __init__(self, number: int = 0, *, memory: int | str | None = None) -> None:
        check_parameters("Cuda", {"number": number}, {"number": integer(0)})
        self.number = int(number)
        self.memory = None if memory is None else byte_count(memory, "memory")
        self.cupy = require("cupy", extra="cuda", purpose="Cuda")

    def __deepcopy__(self, memo: Any) -> Cuda:
        # scikit-learn's clone copies parameters; a module cannot be copied.
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # A model that is pickled leaves the GPU behind: what comes out of the pickle is None.
        return type(None), ()

    def __repr__(self) -> str:
        return f"Cuda({self.number})"

    def __enter__(self) -> Cuda:
        self.found()
        self._scope = self.cupy.cuda.Device(self.number)
        self._scope.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.cupy.get_default_memory_pool().free_all_blocks()
        self._scope.__exit__(*error)

    def found(self) -> str:
        """Say what the GPU is; raise where there is none that kernels run on."""
        runtime = self.cupy.cuda.runtime
        try:
            count = int(runtime.getDeviceCount())
        except Exception as error:
            raise ExecutionError(_no_gpu(runtime, error)) from None
        if self.number >= count:
            raise ExecutionError(f"There is no GPU {self.number}: {count} found, counted from 0.")
        told = runtime.getDeviceProperties(self.number)
        name, capability = told["name"].decode(), told["major"] + told["minor"] / 10
        if capability < _LEAST_CAPABILITY:
            raise ExecutionError(
                f"{name} has compute capability {capability}; GPU kernels need {_LEAST_CAPABILITY} (Ampere, 2020) or "
                "later. Fit without execution."
            )
        memory = told["totalGlobalMem"] / 1e9
        return f"{name}, {memory:.0f} GB, driver for CUDA {_version(runtime.driverGetVersion())}"

    def kernel(self, path: str, name: str, **constants: int) -> Any:
        """Return the kernel `name` of a `.cu` file, built for the current GPU with some constants.

        CuPy keeps what was built on disk, so that this takes a second or so once per machine.
        """
        return _built(self.cupy.cuda.Device().id, path, tuple(sorted(constants.items()))).get_function(name)

    def budget(self) -> int:
        """Return the bytes that a fit may take now, of the GPU that is entered."""
        # What CuPy took before and holds for later is free, too.
        held = self.cupy.get_default_memory_pool().free_bytes()
        free = int(_SHARE * (self.cupy.cuda.runtime.memGetInfo()[0] + held))
        return free if self.memory is None else min(self.memory, free)

    @contextmanager
    def guarded(self, advice: str) -> Iterator[None]:
        """Turn errors of the GPU into plain words; `advice` is what to do where its memory is too small."""
        try:
            yield
        except self.cupy.cuda.memory.OutOfMemoryError as error:
            free = self.cupy.cuda.runtime.memGetInfo()[0] / 1e9
            raise ExecutionError(f"The GPU's memory is too small ({free:.1f} GB free): {error} {advice}") from None
        except self.cupy.cuda.compiler.CompileException as error:
            raise ExecutionError(f"A GPU kernel could not be built: {error}") from None
        except self.cupy.cuda.runtime.CUDARuntimeError as error:
            raise ExecutionError(f"The GPU failed: {error}. 'kolmogorov doctor' shows what was found.") from None


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _no_gpu(runtime: Any, error: Exception) -> str:
    """Say why there is no GPU, and what to do."""
    if "insufficient" not in str(error).casefold():
        return f"There is no NVIDIA GPU here ({error}). Fit without execution."
    driver = int(runtime.driverGetVersion())
    if not driver:
        return "There is no NVIDIA driver here, so no GPU can be used. Fit without execution, or install the driver."
    return (
        f"The NVIDIA driver is too old: it is for CUDA {_version(driver)}, and CuPy was built for "
        f"{runtime.runtimeGetVersion() // 1000}. Update the driver, or install the CuPy for it, such as cupy-cuda12x."
    )


@cache
def _built(gpu: int, path: str, constants: tuple[tuple[str, int], ...]) -> Any:
    if not _built.cache_info().currsize:
        notice("compiling kernels for this GPU; once per installation, some seconds")
    cupy = require("cupy", extra="cuda", purpose="A GPU")
    options = ("--std=c++17", f"-I{FOLDER}", *(f"-D{name}={value}" for name, value in constants))
    return cupy.RawModule(code=(FOLDER / path).read_text(encoding="utf-8"), options=options)
