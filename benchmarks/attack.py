"""Forged files at length: models, packed tables and checkpoints of both kinds, altered and checksummed again.

    python benchmarks/attack.py [--models 20000] [--tables 10000] [--fits 5000] [--chains 5000] [--seed 0]

Every file must be refused with a `FileFormatError`, or load as something that satisfies its invariants and can be used,
without asking for more memory than ten times its size and 100 MB. Findings are printed with the seed that makes them.
"""

import argparse
import sys
import time
from pathlib import Path

from harness import Column, Table, finish, machine

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from helpers import attack

COUNTS = {"models": 20_000, "tables": 10_000, "fits": 5_000, "chains": 5_000}
WORDS = {
    "models": "models",
    "tables": "packed tables",
    "fits": "checkpoints of a fit",
    "chains": "checkpoints of chains",
}
COLUMNS = [
    Column("files"),
    Column("forged", ",d"),
    Column("refused", ",d"),
    Column("loaded, whole", ",d"),
    Column("findings", "d"),
    Column("seconds", ".0f"),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for kind, count in COUNTS.items():
        parser.add_argument(f"--{kind}", type=int, default=count)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(machine())
    table = Table("attack", "Forged files, seed 0", "python benchmarks/attack.py", COLUMNS)
    failed, as_documented = 0, options.seed == 0
    for kind in attack.KINDS:
        count, began = getattr(options, kind), time.perf_counter()
        tally, findings = attack.run(kind, count, seed=options.seed)
        seconds = time.perf_counter() - began
        table.add(WORDS[kind], count, tally["refused"], tally["loaded"], len(findings), seconds)
        as_documented = as_documented and count == COUNTS[kind]
        for finding in findings[:20]:
            print("   ", *finding)
        failed += len(findings)
    finish(table, complete=as_documented)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
