"""Forged files at length: models, packed tables and checkpoints of both kinds, altered and checksummed again.

    python benchmarks/attack.py [--models 25000] [--tables 8000] [--fits 5000] [--chains 5000] [--columns 7000]
                                [--seed 0] [--processes 2] [--first 0]

Every file must be refused with a sentence, or load as something that satisfies its invariants and can be used, within
two minutes and without asking for more memory than ten times its size and 100 MB. Findings are printed with the kind,
the seed and the number of the file; `--models 1 --first NUMBER` makes that file alone again.
"""

import argparse
import sys
import time
from pathlib import Path

from harness import Column, Table, finish, machine

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from helpers import attack

COUNTS = {"models": 25_000, "tables": 8_000, "fits": 5_000, "chains": 5_000, "columns": 7_000}
WORDS = {
    "models": "models",
    "tables": "packed tables",
    "fits": "checkpoints of a fit",
    "chains": "checkpoints of chains",
    "columns": "columns of Arrow and parquet",
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
    parser.add_argument("--processes", type=int, default=1, help="files that are opened side by side")
    parser.add_argument("--first", type=int, default=0, help="number of the first file of each kind")
    options = parser.parse_args()
    print(machine())
    table = Table("attack", "Forged files, seed 0", "python benchmarks/attack.py", COLUMNS)
    failed, as_documented = 0, options.seed == 0 == options.first
    for kind in attack.KINDS:
        count, began = getattr(options, kind), time.perf_counter()
        tally, findings = attack.run(kind, count, options.seed, processes=options.processes, first=options.first)
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
