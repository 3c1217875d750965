"""What a first run waits for: seconds and compiled functions with an empty cache of kernels, and again.

Every run is a process of its own, from the start of Python on; the cache is a folder made for it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import Column, Table, finish, machine

VERBS = {
    "kolmogorov demo": "demo",
    "kolmogorov fit, draws of yes and no": "fit dataset:zoo -q -o draws.km",
    "kolmogorov fit --point": "fit dataset:zoo --point -q -o point.km",
}
#: Runs a verb and says how many functions were compiled, numba's own among them.
SCRIPT = """
import sys
from numba.core import event

from kolmogorov.cli import main


class Counter(event.Listener):
    compiled = 0

    def on_start(self, event):
        self.compiled += 1

    def on_end(self, event):
        pass


event.register("numba:compile", counter := Counter())
main(sys.argv[1:], standalone_mode=False)
print(counter.compiled, file=sys.stderr)
"""


def main() -> None:
    print(machine())
    columns = [Column("run"), Column("functions compiled", "d"), Column("seconds, the first", ".1f")]
    columns.append(Column("seconds, again", ".1f"))
    table = Table("first-run", "With an empty cache of kernels", "python benchmarks/first_run.py", columns)
    with tempfile.TemporaryDirectory() as folder:
        for words, line in VERBS.items():
            cold = Path(folder) / words.replace(" ", "-")
            compiled, first = run(line, cold)
            table.add(words, compiled, first, run(line, cold)[1])
    finish(table)


def run(line: str, cache: Path) -> tuple[int, float]:
    """Run a verb with a cache of its own; return how many functions it compiled, and its seconds."""
    cache.mkdir(exist_ok=True)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", SCRIPT, *line.split()]
    began = time.perf_counter()
    done = subprocess.run(command, cwd=cache, env=environment, check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - began
    return int(done.stderr.split()[-1]), seconds


if __name__ == "__main__":
    main()
