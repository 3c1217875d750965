"""The parameter a of the threshold, of which the paper prints no value: which of its claims needs which."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov.paper.claims import SAME
from kolmogorov.paper.data import AS, lanczos
from kolmogorov.paper.figures import fig6, fig7
from kolmogorov.paper.figures.comparison import distances
from kolmogorov.paper.result import Effort, Lines, Panel, Part, Result, added
from kolmogorov.paper.tables import table4, table5

_EXACT = "enhanced_gd"


def parts(effort: Effort) -> list[Part]:
    """Take the parts of Figs. 6 and 7, of Table IV and of Table V that are about Lanczos."""
    fits = [fit.part for place, several in table5.wanted(effort).items() if _asked(place) for fit in several]
    return [*fig6.parts(effort), *fig7.parts(effort), *table4.parts(effort), *fits]


def _asked(place: tuple[str, str, str, int]) -> bool:
    name, model, reading, _ = place
    return name == "D2" and (model == "KM lanczos" or (model == "KM enhanced_gd" and reading == "u1"))


def present(found: dict[str, Any], effort: Effort) -> Result:
    """Put what was found for every a side by side."""
    (run,) = (found[part.key] for part in fig6.parts(effort))
    stops = np.median(run["stops"], axis=0)
    names = [f"a = {a:g}" for a in AS]
    rows: list[dict[str, Any]] = [
        {"what": "m of 13 (Fig. 6)", **dict(zip(names, map(float, stops), strict=True))},
    ]
    trained, gained, tested = _trained(found, effort), _gained(found), _tested(found, effort)
    for lines in (trained, gained, tested):
        for label, (xs, ys) in lines.items():
            cells = {name: ys[xs.index(a)] if a in xs else None for name, a in zip(names, AS, strict=True)}
            rows.append({"what": label, **cells})
    return Result(
        "The threshold: what each a gains and loses",
        rows,
        [
            Panel("Training error beside the exact EVD's", "a", "% more", trained, log_x=True, levels={"2%": 2.0}),
            Panel(
                "Seconds beside the exact EVD's",
                "a",
                "times faster",
                gained,
                log_x=True,
                log_y=True,
                kin={label: label.replace("faster", "training %") for label in gained},
            ),
            Panel("Test error on u1", "a", "NRMSE", tested, log_x=True),
        ],
        sentences=[
            _needed(stops, trained),
            "Rows: where Lanczos stops, the training error in percent above the exact EVD's, how many times faster a "
            "sweep is than with it, and the test error on u1. All with our safeguards.",
        ],
    )


def _needed(stops: Any, trained: Lines) -> str:
    """Say which a each of the paper's claims needs."""
    nearest = AS[int(np.abs(stops - fig6.PRINTED_STOP).argmin())]
    told = []
    for label, (xs, ys) in trained.items():
        good = [a for a, more in zip(xs, ys, strict=True) if more <= 100 * SAME]
        words = "every a" if len(good) == len(xs) else f"a = {', '.join(f'{a:g}' for a in good)}" if good else "no a"
        told.append(f"{label.partition(', ')[2]}: {words}")
    return (
        f"The paper's claims need different a. Fig. 6's m = {fig6.PRINTED_STOP} is nearest with a = {nearest:g}; Fig. "
        f"7's training error is at most {100 * SAME:g}% above the exact EVD's for {'; '.join(told)}."
    )


def _trained(found: dict[str, Any], effort: Effort) -> Lines:
    lines: Lines = {}
    for name, sizes in fig7.wanted(effort).items():
        for size, labels in sizes.items():
            fits = {label: found[part.key] for label, part in labels.items()}
            for a in AS:
                if lanczos(a) in fits:
                    _, apart = distances({_EXACT: fits[_EXACT], lanczos(a): fits[lanczos(a)]}, _EXACT)
                    added(lines, f"training %, {name}, D = {size}", a, 100 * apart[lanczos(a)][0])
    return lines


def _gained(found: dict[str, Any]) -> Lines:
    at, _ = table4.measured(found)
    lines: Lines = {}
    for name, label, size in at:
        if label == _EXACT and size >= 20:
            for a in AS:
                row, own = at.get((name, lanczos(a), size)), at[name, label, size]["seconds"]
                added(lines, f"faster, {name}, D = {size}", a, own / row["seconds"] if row else None)
    return lines


def _tested(found: dict[str, Any], effort: Effort) -> Lines:
    lines: Lines = {}
    for (name, model, reading, size), fits in table5.wanted(effort).items():
        if _asked((name, model, reading, size)) and model == "KM lanczos":
            error = float(np.mean(found[fits[0].key]["test"]))
            added(lines, f"NRMSE, D = {size}", float(reading.rpartition(" ")[2]), error)
    return lines
