"""Table VI: accuracy of logical relations, as the paper counts it, and as it should be counted."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from kolmogorov.data import Observations
from kolmogorov.interpret import Relations
from kolmogorov.interpret.relations.points import Convention
from kolmogorov.model.kolmogorov import KolmogorovModel
from kolmogorov.paper.claims import Claim, Trial
from kolmogorov.paper.data import split
from kolmogorov.paper.printed import TABLE_6
from kolmogorov.paper.result import PAPER, Effort, Lines, Panel, Part, Result, between

LIKES = 0.5
_MIN_RATINGS = 20
_CONVENTIONS: tuple[Convention, ...] = ("logic", "paper")


def parts(effort: Effort) -> list[Part]:
    """Count on u1.base, and fit it as the paper does from several starts."""
    sweeps, starts = effort.pick(2, 20), effort.pick(1, 5)
    return [Part(f"table6-{sweeps}x{starts}", partial(_measured, sweeps, starts), cost=15.0 * starts)]


def taste(table: Observations, user: int) -> tuple[int, float]:
    """Return how many items a user rated, and the percentage with p >= 0.5."""
    row = int(table.users.encode([user])[0])
    values = table.values[table.rows.indptr[row] : table.rows.indptr[row + 1]]
    return int(values.size), 100 * float((values >= LIKES).mean())


def _measured(sweeps: int, starts: int) -> dict[str, Any]:
    train, test = split("D2")
    printed = [(item, user, *taste(train, user)) for item, user, _, _ in TABLE_6]
    models = [
        KolmogorovModel.as_in_paper(8, max_iter=sweeps, random_state=k, n_jobs=1).fit(train) for k in range(starts)
    ]
    held = {}
    for likes, word in ((0.6, "at least 3 stars"), (0.8, "at least 4 stars")):
        held[word] = [
            models[0]
            .relations(min_ratings=_MIN_RATINGS, trivial=False, convention=convention)
            .rules(test, likes, supported=False, max_rules=None)
            .totals()
            for convention in _CONVENTIONS
        ]
    return {
        "printed": printed,
        "ours": [_raters(model, train) for model in models],
        "base rate": 100 * float((train.values >= LIKES).mean()),
        "held": held,
    }


def _raters(model: KolmogorovModel, train: Observations) -> list[tuple[int, int, int, float]]:
    """Return the raters of the items of influence 1, as the paper lists them."""
    found = []
    for item in np.flatnonzero(Relations(model.fitted_, convention="paper").influence == 1.0).tolist():
        first, last = train.columns.indptr[item], train.columns.indptr[item + 1]
        for user in train.columns.indices[first:last].tolist():
            name = int(train.users.ids[user])
            found.append((int(train.items.ids[item]), name, *taste(train, name)))
    return found


def present(found: dict[str, Any], effort: Effort) -> Result:
    """List the printed rows from u1.base, then the items of influence 1 of our own fit."""
    (measured,) = found.values()
    base, ours = measured["base rate"], sorted(measured["ours"][0])
    rows = [
        _row("the paper's", mine, base, theirs[2:]) for mine, theirs in zip(measured["printed"], TABLE_6, strict=True)
    ]
    equal = sum(row["items rated"] == row["paper"] and row["accuracy %"] == row["paper %"] for row in rows)
    rows += [_row("our fit's", rater, base) for rater in ours]
    shares = sorted(share for *_, share in ours)
    same = {(item, user) for item, user, *_ in ours} & {row[:2] for row in TABLE_6}
    places = np.linspace(0, max(len(shares) - 1, 1), len(TABLE_6)).tolist()
    lines: Lines = {
        "raters of our fit's": (list(range(len(shares))), shares),
        f"{PAPER}raters": (places, sorted(row[3] for row in TABLE_6)),
    }
    sentences = [
        f"{equal} of the 7 printed rows are those of users in u1.base, to the last digit, and of no other fold: so D2 "
        f"is read as u1. Of the raters of our first fit's items of influence 1, {len(same)} are among them."
    ]
    for word, (right, reverse) in measured["held"].items():
        sentences.append(
            f"On u1.test (likes = {word}, items with {_MIN_RATINGS} ratings or more) implications in our direction "
            f"hold in {100 * right['confidence']:.1f}% of {right['pairs']:.0f} cases against a base rate of "
            f"{100 * right['base_rate']:.1f}%; read in the paper's direction in {100 * reverse['confidence']:.1f}% "
            f"against {100 * reverse['base_rate']:.1f}%."
        )
    return Result(
        "Table VI: accuracy of logical relations (u1.base, D = 8)",
        rows,
        [
            Panel(
                "Raters of items with influence score 1",
                "rater, sorted",
                "% of rated items liked",
                lines,
                levels={"base rate": base},
                kin={f"{PAPER}raters": "raters of our fit's"},
            )
        ],
        [_accuracy(measured), _direction(measured)],
        sentences,
    )


def _accuracy(measured: dict[str, Any]) -> Claim:
    trials, means = [], []
    for start, raters in enumerate(measured["ours"]):
        mean = float(np.mean([share for *_, share in raters])) if raters else 0.0
        means.append(mean)
        trials.append(Trial(f"start {start + 1}", f"{mean:.1f}% over {len(raters)} raters", mean > 80, mean <= 80))
    return Claim(
        "Table VI, abstract",
        "'the accuracy of logical relation mining exceeds 80%'",
        "as the paper counts it: the share of a rater's items with p >= 0.5, over raters of items of influence 1",
        trials,
        brief=f"{between(means, '{:.1f}'.format)}% by start",
        note=f"base rate: {measured['base rate']:.1f}% of all ratings in u1.base have p >= 0.5",
    )


def _direction(measured: dict[str, Any]) -> Claim:
    trials = []
    for word, (right, reverse) in measured["held"].items():
        ours, papers = (one["confidence"] / one["base_rate"] for one in (right, reverse))
        told = f"lift {papers:.3f} in that direction, {ours:.3f} in the other"
        trials.append(Trial(f"likes = {word}", told, papers > ours, papers < ours))
    return Claim(
        "Section II-B3",
        "supp(psi_j) in supp(psi_i) gives X_i = 1 => X_j = 1",
        "held-out pairs of u1.test; confidence over the base rate of the same items",
        trials,
    )


def _row(whose: str, rater: Any, base: float, printed: Any = (None, None)) -> dict[str, Any]:
    item, user, count, share = rater
    return {
        "items of influence 1": whose,
        "item": item,
        "user": user,
        "items rated": count,
        "paper": printed[0],
        "accuracy %": round(share, 2),
        "paper %": printed[1],
        "base rate %": round(base, 2),
    }
