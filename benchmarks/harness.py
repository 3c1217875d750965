"""What the benchmarks share: data, clocks, memory, processes, peers that may be absent, and where results go."""

import datetime
import multiprocessing
import os
import platform
import sys
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from tables import RESULTS, Table
from tables import Column as Column

from kolmogorov import Observations, __version__, datasets
from kolmogorov._support.threads import usable_cpus
from kolmogorov.errors import DataError

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


def sparse_rows(table: Observations) -> Any:
    """Return a table as implicit takes it."""
    from scipy.sparse import csr_matrix

    rows = table.rows
    cells = (rows.values.astype(np.float32), rows.indices.copy(), rows.indptr.astype(np.int32))
    return csr_matrix(cells, shape=(table.n_users, table.n_items))


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


# --- memory and processes --------------------------------------------------------------------------------------------


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


def _child(work: Callable[..., Any], args: tuple[Any, ...], pipe: Any) -> None:
    pipe.send(work(*args))


# --- peers and results -----------------------------------------------------------------------------------------------


def peer(module: str, extra: str = "bench") -> bool:
    """Tell whether a peer is installed; where it is not, say once how to install it, and save no table without it."""
    if find_spec(module) is not None:
        return True
    if module not in _ABSENT:
        _ABSENT[module] = extra
        print(f"{module} is not installed and is left out. Install it with: pip install '.[{extra}]'")
    return False


def finish(*tables: Table, complete: bool = True, parts: bool = False) -> None:
    """Write tables to benchmarks/results; not where rows were left out, which documents would then lose.

    With `parts` the first column names what may be run apart: rows of others stay as they were stored.
    """
    for table in tables:
        if not complete or _ABSENT or not table.rows:
            why = f"without {', '.join(_ABSENT)}" if _ABSENT else "a part of it was run"
            print(f"{table.name} is not saved: {why}.")
            continue
        table.date = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
        table.environment = environment()
        if parts:
            beside_stored(table)
        print(f"{table.name} is saved; `python benchmarks/tables.py` shows it in the documents.")
        table.write()


def beside_stored(table: Table, folder: Path = RESULTS) -> None:
    """Give a table the stored rows of other parts; the environment then says which part was run when and where."""
    new = dict.fromkeys(row[0] for row in table.rows)
    rows, runs = [], {}
    if (folder / f"{table.name}.json").exists():
        stored = Table.read(table.name, folder)
        rows, runs = stored.rows, stored.environment or {}
    order = dict.fromkeys(row[0] for row in [*rows, *table.rows])
    known = [row for row in rows if row[0] not in new] + table.rows
    table.rows = [row for part in order for row in known if row[0] == part]
    runs = {words: [part for part in parts if part not in new] for words, parts in runs.items()}
    words = f"{table.date}, {machine()}"
    runs[words] = [*runs.get(words, []), *new]
    table.environment = {words: parts for words, parts in runs.items() if parts}


def paired_error(losses: Any, others: Any) -> float:
    """Return the standard error of the difference between two means of losses of the same cells."""
    return float(np.std(losses - others, ddof=1) / np.sqrt(losses.size))
