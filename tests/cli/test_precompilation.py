"""`kolmogorov doctor --warm` compiles all that the usual verbs need, and nothing that nobody calls."""

import os
import subprocess
import sys

import pytest

#: Runs verbs one after another in one process, as if the core alone were installed, and says of each how many kernels
#: it compiled.
VERBS = """
import sys


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("pandas", "polars", "pyarrow"):
            raise ModuleNotFoundError(name)


sys.meta_path.insert(0, Absent())

from numba.core import event

from kolmogorov._support.jit import compiled_kernels
from kolmogorov.cli import main


class Words(event.Listener):
    found = 0

    def on_start(self, event):
        self.found += event.data["dispatcher"].py_func.__module__ == "numba.cpython.unicode"

    def on_end(self, event):
        pass


words = Words()
event.register("numba:compile", words)
for line in sys.argv[1:]:
    before = compiled_kernels()
    main(line.split(), standalone_mode=False)
    print(f"{compiled_kernels() - before} compiled by {line}", file=sys.stderr)
print(f"{words.found} words", file=sys.stderr)
"""


def run(folder, *lines):
    """Run verbs in a process that keeps compiled kernels in a folder of its own; return what each compiled."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    environment.pop("NUMBA_DISABLE_JIT", None)
    command = [sys.executable, "-c", VERBS, *lines]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if line.endswith(" words") or " compiled by " in line]
    return done.stdout, [int(line.split()[0]) for line in said]


@pytest.mark.long("compilation")
@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="nothing is compiled")
def test_after_warming_nothing_is_compiled(tmp_path):
    lines = [f"u{u},i{i},{1 + (u * i) % 5}" for u in range(12) for i in range(9)]
    (tmp_path / "stars.csv").write_text("user,item,rating\n" + "\n".join(lines))
    (tmp_path / "yes.csv").write_text("user,item,rating\n" + "\n".join(line for line in lines if line.endswith("1")))
    output, compiled = run(tmp_path, "doctor --warm")
    assert compiled[0] > 40
    # A line for each step, and the sum of them.
    steps = [int(line.split()[2]) for line in output.splitlines() if line.rstrip().split()[3:4] == ["compiled"]]
    assert len(steps) >= 5
    assert sum(steps) == compiled[0]
    assert f"{compiled[0]} compiled, kept in" in output
    # Assigning an array to a slice would have numba compile its error messages, a fourth of a first run.
    assert compiled[-1] == 0
    usual = (
        "demo",
        "fit stars.csv --maximum 5 --chains 1 --burn-in 2 --samples 2 -q -o draws.km",
        "fit stars.csv --maximum 5 --point -q -o point.km",
        "fit dataset:zoo --chains 1 --burn-in 2 --samples 2 -q -o zoo.km",
        "predict draws.km stars.csv --interval 0.9 -o predicted.csv",
        "recommend draws.km --user u1",
        "recommend point.km --user u1",
        "explain zoo.km --user dolphin --item milk",
        "explain point.km --user u1 --item i1",
        "explain draws.km --user u1 --item i1",
        "fit stars.csv --maximum 5 --levels chances --test-size 0.2 -q -o chances.km",
        "evaluate chances.km stars.csv",
        "fit stars.csv --maximum 5 --learn-from ratings -q -o ratings.km",
        "rules point.km",
        "fit yes.csv --only-yes --events 3 -q -o yes.km",
        "evaluate zoo.km dataset:zoo",
    )
    assert dict(zip((*usual, "words"), run(tmp_path, *usual)[1], strict=True)) == dict.fromkeys((*usual, "words"), 0)
