"""The paper's Table V on its own split, for docs/: taken from what `kolmogorov paper all --out docs/paper` stored.

Test error on u1.test after training on u1.base with the printed parameters, by the paper's solver and by the exact one,
and what the models reach as they are when nothing is set.
"""

import csv
import sys
from pathlib import Path

from harness import Column, Table, finish

SOURCE = Path(__file__).resolve().parents[1] / "docs" / "paper" / "table5.csv"
ROWS = {"as the paper trains (enhanced_gd)": "KM enhanced_gd", "the same with exact BQPs": "KM exact"}


def results():
    """Return the table, empty."""
    title = "Test error on MovieLens 100K, u1.base / u1.test, on the scale p = stars / 5"
    columns = [Column("D"), *(Column(label, ".4f") for label in ROWS), Column("the paper prints", ".4f")]
    columns += [Column("our defaults, their own D", ".4f"), Column("our defaults, draws", ".4f")]
    return Table("paper", title, "python benchmarks/paper.py", columns, transposed=True)


def main():
    if not SOURCE.exists():
        sys.exit(f"{SOURCE.name} is not there; run: kolmogorov paper all --out docs/paper")
    with SOURCE.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["data"] == "D2" and row["reading"] == "u1"]
    errors = {(row["model"], int(row["D"])): float(row["NRMSE"]) for row in rows}
    printed = {int(row["D"]): float(row["paper"]) for row in rows if row["model"] == "KM enhanced_gd"}
    library = {row["model"]: float(row["NRMSE"]) for row in rows if row["model"].startswith("library")}
    ours = [library.get(f"library: {kind}()") for kind in ("KolmogorovModel", "BayesianKolmogorovModel")]
    table = results()
    for size, value in printed.items():
        table.add(size, *(errors.get((model, size)) for model in ROWS.values()), value, *ours)
    finish(table)


if __name__ == "__main__":
    main()
