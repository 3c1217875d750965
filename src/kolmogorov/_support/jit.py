"""The only place that compiles: one decorator for every kernel, and a word to whoever has to wait for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core import event

from kolmogorov._support.progress import notice


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` at its first call; keep the machine code on disk; release the GIL while it runs.

    Kernels are serial: rows are dealt to threads above them, so that one row's arithmetic never depends
    on how many threads there are. Where no directory can hold the cache (read-only or zipped
    installations) the kernel is compiled again in each process instead of failing at import.
    """
    # Nobody takes a kernel's address; without that wrapper a tenth less is compiled.
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:
        return numba.njit(**options)(function)


class _Announcer(event.Listener):  # type: ignore[misc]
    """Says once per process that compilation has begun. Loading from the cache is not compilation."""

    def __init__(self) -> None:
        self._said = False
        event.register("numba:compile", self)  # type: ignore[no-untyped-call]

    def on_start(self, event: Any) -> None:
        if _is_ours(event) and not self._said:
            self._said = True
            notice("compiling numerical kernels for this machine; once per installation, some seconds")

    def on_end(self, event: Any) -> None:
        pass


_Announcer()


def _is_ours(event: Any) -> bool:
    function = getattr(event.data.get("dispatcher"), "py_func", None)
    return getattr(function, "__module__", "").startswith("kolmogorov.")
