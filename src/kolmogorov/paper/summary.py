"""The first page for a reader of the paper: what it does, what stands, what the library adds, how it was read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from kolmogorov.paper.claims import RULE, Claim, Verdict
from kolmogorov.paper.data import AS, NEAREST
from kolmogorov.paper.printed import TABLE_5
from kolmogorov.paper.result import Effort, Result, plain

#: Solvers whose costs are listed, and the columns of Table IV that say them.
_LISTED = ("sdr", "dmo", "gd", "enhanced_gd", "lanczos, a = 1", "lanczos, a = 10", "newton", "auto")

#: What verdicts mean, and which of them are listed, with what is said before.
_MEANT = {
    Verdict.HOLDS: "our numbers agree, whatever the paper leaves open",
    Verdict.UNDER_A_READING: "they agree for some readings of what it leaves open",
    Verdict.NOT_FOUND: "they agree for none",
    Verdict.CONTRADICTED: "they agree for none, and some say the opposite",
}
_LISTS = {
    Verdict.CONTRADICTED: "These are contradicted:",
    Verdict.NOT_FOUND: "These we do not find:",
    Verdict.HOLDS: "These hold however they are read:",
}


def front_page(
    said: dict[str, Result],
    environments: list[str],
    runs: list[dict[str, Any]],
    parts: list[float],
    effort: Effort,
) -> list[str]:
    """Return the page's first lines, below its title; `parts` has the seconds of every one."""
    claims = [claim for result in said.values() for claim in result.claims]
    return [
        "After this page you know what *Dual Optimization for Kolmogorov Model Learning Using Enhanced Gradient "
        "Descent* (Q. Duan, H. Ghauch, T. Kim) found, what of it we find too, and under which reading: every table and "
        "figure beside the printed numbers, computed by `kolmogorov paper all`.",
        "",
        "**What the paper does.** A Kolmogorov model explains a table of probabilities by a distribution over "
        "elementary events for every user and a set of events for every item. To learn it, the paper solves a binary "
        "quadratic program for each item by the dual of its semidefinite relaxation, with a gradient descent that "
        "saves eigendecompositions (EVDs) where they say nothing, and rounds the result. So models of many events can "
        "be learned from MovieLens 1M on one machine.",
        "",
        *(
            ["**A quick run**: few sweeps, one start, little data. Its verdicts are provisional.", ""]
            if effort.quick
            else []
        ),
        *_stands(claims),
        *_added(said),
        "**How we read it.**",
        "",
        "- **Data.** D1 is the toy (20 x 40, uniform). D2 is MovieLens 100K, split as u1.base / u1.test, since all "
        "seven rows of Table VI are those of users in u1.base; errors stand beside means of u1 to u5 too. D3 is "
        "MovieLens 1M, 80% at random (the paper does not say which).",
        "- **Times** are per sweep, the paper's unit ('averaged over BCD iterations'), on one thread; the paper's were "
        "taken with MATLAB on an i7-7700.",
        "- **Left open by the paper**: the first step, the Armijo constants and the tolerance of the descent (ours: "
        + ", ".join(f"{name} {value:g}" for name, value in NEAREST.items())
        + f"), a of the threshold (the line {', '.join(f'{a:g}' for a in AS)}), the prior of theta, what mu_i draws "
        "to, the number of sweeps. Where a claim depends on one of them, all that was tried is shown; the ablations "
        "vary one at a time.",
        "- **Ours** are two safeguards, without which the item `safeguards` runs Algorithm 4: an item keeps its "
        "support where rounding found a worse one, and a sweep that raises the objective is undone. Fits leave out "
        "EVDs of trial points that a bound rules out (`screened=True`); the points visited are the same. Counts of "
        "EVDs are without it.",
        f"- **One rule** for all verdicts: {RULE}. A claim *holds* where all readings agree, and *under the reading "
        "given* where some do; it is *contradicted* where none does and some give the opposite, else *not found*. "
        "Verdicts and sentences are computed from the numbers.",
        f"- {_machine(environments, runs, parts)}",
        "",
    ]


def _stands(claims: list[Claim]) -> list[str]:
    """Say in one screen what stands and what does not: how many claims there are of each kind, and which they are."""
    kinds = Counter(claim.verdict for claim in claims)
    lines = [f"**What stands.** Of {len(claims)} claims:", "", "| verdict | claims | that is |", "|---|---|---|"]
    lines += [f"| *{verdict}* | {kinds[verdict]} | {meant} |" for verdict, meant in _MEANT.items()]
    for verdict, words in _LISTS.items():
        chosen = [f"- {claim.says} ({claim.where})" for claim in claims if claim.verdict is verdict]
        lines += ["", words, "", *chosen] if chosen else []
    return [*lines, "", "The table below says what the others depend on.", ""]


def _machine(environments: list[str], runs: list[dict[str, Any]], parts: list[float]) -> str:
    """Say by what, where, and how long it was computed."""
    where = dict.fromkeys(f"{run['processor'] or run['machine']}, up to {run['jobs']} parts at a time" for run in runs)
    one = "**One machine, one version.** All" if len(environments) == 1 and len(where) <= 1 else "The"
    words = [f"{one} {len(parts)} parts were computed with {' and with '.join(environments)}"]
    words += [f" ({'; '.join(where)}; {max(run['date'] for run in runs)})"] if where else []
    return "".join(words) + (
        f". One after the other they take {sum(parts) / 3600:.1f} hours. Parts that measure time ran after all others, "
        "each on one processor with up to three others kept free."
    )


def _added(said: dict[str, Result]) -> list[str]:
    """Say what the library does beyond the paper, with the numbers that are there."""
    points = []
    if "table5" in said:
        stars = {row["model"]: row["stars"] for row in said["table5"].rows if row["data"] == "D2"}
        best = {label.partition(": ")[2]: error for label, error in stars.items() if label.startswith("library")}
        told = ", ".join(f"`{label}` {best[label]:.3f}" for label in sorted(best, key=best.__getitem__))
        printed = max(TABLE_5["D2"]["KM enhanced_gd"].items())[1][0]
        points.append(
            "- **The paper's own model, learned from draws**, which complete the table, instead of from the ratings "
            f"alone; its average over draws; and chances in place of yes and no. Error on u1 in stars: {told}; the "
            f"paper's best is {5 * printed:.3f}."
        )
    if "fig2" in said:
        evds = {row["method"]: row["EVDs to a gap of 1e-06"] for row in said["fig2"].rows}
        points.append(
            "- **Newton's method for the dual**: it is the nearest-correlation-matrix problem of Qi and Sun (2006). To "
            f"a gap of 1e-6 at D = 4 it takes {evds['newton']:.0f} EVDs, enhanced_gd {evds['enhanced_gd']:.0f}."
        )
    points.append(
        "- **Exact BQPs**: up to 16 events all supports are looked at, in microseconds; above, local search, which "
        'reaches the best value known where rounding does not (`item_solver="auto"`).'
    )
    points.append("- **Rules in the direction that holds**, each beside its base rate, and draws with intervals.")
    return ["**What this library adds.**", "", *points, ""]


def costs(rows: list[dict[str, Any]], markdown: Callable[[list[dict[str, Any]]], list[str]]) -> list[str]:
    """Return EVDs and seconds of every solver on D2's items, by D."""
    sizes = sorted({row["D"] for row in rows if row["data"] == "D2"})
    at = {(row["solver"], row["D"]): row for row in rows if row["data"] == "D2"}
    table = []
    for label in _LISTED:
        cells = {size: at.get((label, size)) for size in sizes}
        table.append({"solver": label, **{f"D = {n}": "" if row is None else _cost(row) for n, row in cells.items()}})
    return [
        "Milliseconds per BQP on one thread / eigendecompositions per BQP (full + Lanczos) / mean value above the best "
        "found, on items of u1.base:",
        "",
        *markdown(table),
    ]


def _cost(row: dict[str, Any]) -> str:
    items = int(row["items timed"].split(" of ")[1])
    evds = "-" if row["EVDs"] is None else f"{row['EVDs']:.0f}"
    if row["Lanczos runs"]:
        evds += f" + {row['Lanczos runs']:.0f}"
    return f"{plain(1e3 * row['s per sweep'] / items)} / {evds} / {row['value above best']:.2g}"
