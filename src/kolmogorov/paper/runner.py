"""Computes the parts of items and stores them; an interrupted run goes on where it stopped."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from kolmogorov import __version__
from kolmogorov._support.files import atomic_writer
from kolmogorov._support.threads import one_blas_thread, usable_cpus
from kolmogorov.paper.registry import ITEMS, item
from kolmogorov.paper.result import Effort, Part, Result

Say = Callable[[str], None]
#: Of what the parts compute. A change of the library that leaves it alone leaves what is stored valid, and one that
#: changes what a part finds raises it; what is stored under another number is computed anew.
PROTOCOL = 1
_RUNS = "runs.json"


def compute(
    names: Sequence[str],
    folder: Path,
    effort: Effort,
    *,
    say: Say,
    fresh: bool = False,
    share: tuple[int, int] = (1, 1),
    jobs: int = 1,
) -> None:
    """Compute the parts that `folder` does not hold yet under this protocol, several at a time with `jobs`.

    With share = (k, n) only every n-th part is looked at, from the k-th on, so that n machines can divide the work.
    """
    (folder / "parts").mkdir(parents=True, exist_ok=True)
    wanted = {part.key: (name, part) for name in names for part in item(name).parts(effort)}
    kth, n = share
    todo = []
    for name, part in list(wanted.values())[kth - 1 :: n]:
        if not fresh and stored(folder, part) is not None:
            continue
        if part.needs is not None and find_spec(part.needs) is None:
            say(f"{name}: {part.key} left out, which needs {part.needs} (extra 'paper')")
            continue
        todo.append((name, part))
    todo.sort(key=lambda pair: -pair[1].cost / pair[1].room(jobs))
    began, when, finished = time.perf_counter(), time.strftime("%Y-%m-%d"), list[str]()
    try:
        for timed in (False, True):
            _dealt([pair for pair in todo if pair[1].timed == timed], folder, effort, jobs, say, finished)
    finally:
        # Of a run that is interrupted too.
        if finished:
            took = round(time.perf_counter() - began, 1)
            record = {"date": when, "parts": len(finished), "jobs": jobs, "seconds": took}
            _note(folder, {**record, "processor": _processor(), **environment()})


def _dealt(
    todo: list[tuple[str, Part]], folder: Path, effort: Effort, jobs: int, say: Say, finished: list[str]
) -> None:
    """Deal parts to processes, the longest first, as long as there are processors for them; list what is finished."""
    if jobs == 1 or len(todo) <= 1:
        for name, part in todo:
            say(f"{name}: {part.key}")
            _keep(folder, part)
            finished.append(part.key)
        return
    running: dict[Future[None], Part] = {}
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        try:
            while todo or running:
                free = jobs - sum(part.room(jobs) for part in running.values())
                fitting = next((pair for pair in todo if pair[1].room(jobs) <= free), None)
                if fitting is None:
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        future.result()
                        finished.append(running.pop(future).key)
                    continue
                name, part = fitting
                todo.remove(fitting)
                say(f"{name}: {part.key} ({len(todo)} parts to go)")
                running[pool.submit(_work, name, part.key, folder, effort)] = part
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _work(name: str, key: str, folder: Path, effort: Effort) -> None:
    """Compute one part in a process of the pool, which makes the part itself: functions do not travel."""
    _keep(folder, next(part for part in item(name).parts(effort) if part.key == key))


def _keep(folder: Path, part: Part) -> None:
    began = time.perf_counter()
    # Parts run beside each other, each on as many processors as it has slots.
    with one_blas_thread():
        data = part.compute()
    took = round(time.perf_counter() - began, 2)
    record = {"protocol": PROTOCOL, "seconds": took, "environment": environment(), "data": data}
    write_text(_file(folder, part), json.dumps(record) + "\n")


def presented(name: str, folder: Path, effort: Effort) -> tuple[Result, float] | None:
    """Say what the folder holds of an item, and the seconds it took; None where parts are missing."""
    found, took = {}, 0.0
    for part in item(name).parts(effort):
        record = stored(folder, part)
        if record is None:
            if part.needs is None:
                return None
            continue
        found[part.key] = record["data"]
        took += record["seconds"]
    return item(name).present(found, effort), took


def stored(folder: Path, part: Part) -> dict[str, Any] | None:
    """Return the record of a part, where the folder holds one of this protocol, by whichever version of the library."""
    try:
        record: dict[str, Any] = json.loads(_file(folder, part).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    # Version 0.1.0 wrote the first protocol, and no number.
    return record if record.get("protocol", 1) == PROTOCOL else None


def runs(folder: Path) -> list[dict[str, Any]]:
    """Return the records of the runs that computed what the folder holds."""
    try:
        found: list[dict[str, Any]] = json.loads((folder / _RUNS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return found


def _note(folder: Path, run: dict[str, Any]) -> None:
    write_text(folder / _RUNS, json.dumps([*runs(folder), run], indent=1) + "\n")


def environment() -> dict[str, Any]:
    """Return what a reader needs to judge the times."""
    return {
        "kolmogorov": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "processors": usable_cpus(),
    }


def _processor() -> str:
    """Return the processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")


def environments(folder: Path, effort: Effort) -> list[str]:
    """Return where the stored parts were computed, in words."""
    seen: dict[str, None] = {}
    for record in _records(folder, effort):
        where = record["environment"]
        seen[
            f"kolmogorov {where['kolmogorov']}, Python {where['python']}, numpy {where['numpy']}, "
            f"{where['machine']}, {where['processors']} processors"
        ] = None
    return list(seen)


def seconds(folder: Path, effort: Effort) -> list[float]:
    """Return the seconds of every stored part."""
    return [record["seconds"] for record in _records(folder, effort)]


def _records(folder: Path, effort: Effort) -> list[dict[str, Any]]:
    """Return the records of the parts of all items that the folder holds, each once."""
    wanted = {part.key: part for name in ITEMS for part in item(name).parts(effort)}
    return [record for part in wanted.values() if (record := stored(folder, part)) is not None]


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    with atomic_writer(path) as stream:
        stream.write(text.encode("utf-8"))


def _file(folder: Path, part: Part) -> Path:
    return folder / "parts" / f"{part.key}.json"
