"""What the benchmarks share: where the data are, and which machine this is."""

import os
import platform
import sys
from pathlib import Path
from typing import Any

import numpy as np

from kolmogorov import Observations, __version__, datasets
from kolmogorov._support.threads import usable_cpus
from kolmogorov.errors import DataError


def movielens(name: str) -> Observations:
    """Load a MovieLens table, or end with the reason why not."""
    os.environ.setdefault("KOLMOGOROV_DATA", str(Path(__file__).resolve().parents[2] / "shared" / "data"))
    try:
        return datasets.load(name)
    except DataError as error:
        sys.exit(f"skipped: {error}")


def machine() -> str:
    """One line about this machine and these versions."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.split(":")[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    return (
        f"kolmogorov {__version__}, Python {platform.python_version()}, numpy {np.__version__}, "
        f"{model}, {usable_cpus()} processors"
    )


def peak_memory(process: str = "self") -> float:
    """Return a process's peak in MB; ru_maxrss would begin with the parent's."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def reliability(values: Any, predictions: Any, groups: int = 10) -> Any:
    """Return mean prediction and share of yes for groups of equal size, sorted by prediction."""
    parts = np.array_split(np.argsort(predictions, kind="stable"), groups)
    return np.array([(predictions[part].mean(), values[part].mean()) for part in parts])
