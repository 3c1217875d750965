"""Forged files at length: models, packed tables and checkpoints of both kinds, altered and checksummed again.

    python benchmarks/attack.py [--models 20000] [--tables 10000] [--fits 5000] [--chains 5000] [--seed 0]

Every file must be refused with a `FileFormatError`, or load as something that satisfies its invariants and can be used,
without asking for more memory than ten times its size and 100 MB. Findings are printed with the seed that makes them.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import attack

COUNTS = {"models": 20_000, "tables": 10_000, "fits": 5_000, "chains": 5_000}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for kind, count in COUNTS.items():
        parser.add_argument(f"--{kind}", type=int, default=count)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"{'files':8}{'forged':>8}{'refused':>9}{'loaded, whole':>15}{'findings':>10}{'seconds':>9}")
    failed = 0
    for kind in attack.KINDS:
        count, began = getattr(options, kind), time.perf_counter()
        tally, findings = attack.run(kind, count, seed=options.seed)
        seconds = time.perf_counter() - began
        print(f"{kind:8}{count:8}{tally['refused']:9}{tally['loaded']:15}{len(findings):10}{seconds:9.0f}", flush=True)
        for finding in findings[:20]:
            print("   ", *finding)
        failed += len(findings)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
