"""What the benchmarks share: data, clocks, memory, processes, peers that may be absent, and where results go."""

from __future__ import annotations

import datetime
import multiprocessing
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from tables import Column, Table

from kolmogorov import Observations, __version__, datasets
from kolmogorov._support.threads import usable_cpus
from kolmogorov.errors import DataError

__all__ = [
    "Column",
    "Table",
    "Timing",
    "data_folder",
    "environment",
    "finish",
    "in_process",
    "machine",
    "movielens",
    "paired_error",
    "peak_memory",
    "peer",
    "ratio",
    "reliability",
    "timed",
]
_ABSENT: dict[str, str] = {}


# --- data and machine ------------------------------------------------------------------------------------------------


def data_folder() -> Path:
    """Return the folder with data that may not be redistributed: KOLMOGOROV_DATA, or beside the project."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.setdefault("KOLMOGOROV_DATA", str(default)))


def movielens(name: str) -> Observations:
    """Load a MovieLens table, or end with the reason why not."""
    data_folder()
    try:
        return datasets.load(name)
    except DataError as error:
        sys.exit(f"skipped: {error}")


def environment() -> dict[str, Any]:
    """Return versions and processor; nothing that names this machine or its folders."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.split(":")[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    return {
        "kolmogorov": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "numba", "scipy")},
        "system": platform.system(),
        "processor": model,
        "processors": usable_cpus(),
    }


def machine() -> str:
    """Return one line about versions and processor."""
    found = environment()
    return (
        f"kolmogorov {found['kolmogorov']}, Python {found['python']}, numpy {found['numpy']}, {found['processor']}, "
        f"{found['processors']} processors"
    )


# --- time and memory -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Timing:
    """Seconds of every repetition, and what the work returned last."""

    seconds: tuple[float, ...]
    result: Any

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.seconds)

    @property
    def best(self) -> float:
        """The shortest, which other work on the machine disturbed least."""
        return min(self.seconds)


def timed(work: Callable[[], Any], repeats: int = 3, warm_up: Callable[[], Any] | None = None) -> Timing:
    """Time some repetitions of `work`, after a call of `warm_up` (imports, compilation) that is not timed."""
    if warm_up is not None:
        warm_up()
    seconds, result = [], None
    for _ in range(repeats):
        began = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - began)
    return Timing(tuple(seconds), result)


def ratio(work: Callable[[], Any], other: Callable[[], Any], repeats: int = 3) -> tuple[Timing, Timing, float]:
    """Time two things in turns, so that both meet the same machine; the ratio is that of their medians."""
    ours, theirs = [], []
    for _ in range(repeats):
        ours.append(timed(work, 1))
        theirs.append(timed(other, 1))
    first, second = (Timing(tuple(timing.best for timing in timings), timings[-1].result) for timings in (ours, theirs))
    return first, second, first.median / second.median


def peak_memory(process: str = "self") -> float:
    """Return a process's peak in MB; ru_maxrss would begin with the parent's."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def in_process(work: Callable[..., Any], *args: Any) -> Any:
    """Call a function in a fresh process; return what it returns."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(work, args, there))
    process.start()
    there.close()
    try:
        return here.recv()
    except EOFError:
        sys.exit(f"{work.__name__} failed")
    finally:
        process.join()


def kept(kind: type[Any], folder: Path | None, words: tuple[Any, ...], work: Callable[[], Any]) -> Any:
    """Return the numbers that some work found before, from a folder of such files, or do it and keep them."""
    if folder is None:
        return work()
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{' - '.join(map(str, words)).replace('/', ' ')}.npz"
    if not file.exists():
        with open(file.with_suffix(".part"), "wb") as unfinished:
            np.savez(unfinished, **asdict(work()))
        file.with_suffix(".part").replace(file)
    with np.load(file) as found:
        return kind(**{name: found[name] if found[name].ndim else found[name].item() for name in found})


def _child(work: Callable[..., Any], args: tuple[Any, ...], pipe: Any) -> None:
    pipe.send(work(*args))


# --- peers and results -----------------------------------------------------------------------------------------------


def peer(module: str, extra: str | None = "bench") -> bool:
    """Tell whether a peer is installed; where it is not, say once how to install it, and save no table without it.

    `extra` is None for a peer that belongs to no extra.
    """
    if find_spec(module) is not None:
        return True
    if module not in _ABSENT:
        _ABSENT[module] = f"'.[{extra}]'" if extra else module
        print(f"{module} is not installed and is left out. Install it with: pip install {_ABSENT[module]}")
    return False


def finish(*tables: Table, complete: bool = True) -> None:
    """Write tables to benchmarks/results; not where rows were left out, which documents would then lose."""
    for table in tables:
        if not complete or _ABSENT or not table.rows:
            why = f"without {', '.join(_ABSENT)}" if _ABSENT else "a part of it was run"
            print(f"{table.name} is not saved: {why}.")
            continue
        table.date = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
        table.environment, table.transcribed = environment(), False
        print(f"{table.name} is saved; `python benchmarks/render.py` shows it in the documents.")
        table.write()


def reliability(values: Any, predictions: Any, groups: int = 10) -> Any:
    """Return mean prediction and share of yes for groups of equal size, sorted by prediction."""
    parts: Iterable[Any] = np.array_split(np.argsort(predictions, kind="stable"), groups)
    return np.array([(predictions[part].mean(), values[part].mean()) for part in parts])


def paired_error(losses: Any, others: Any) -> float:
    """Return the standard error of the difference between two means of losses of the same cells."""
    return float(np.std(losses - others, ddof=1) / np.sqrt(losses.size))
