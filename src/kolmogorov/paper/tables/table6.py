"""Table VI: accuracy of logical relations, as the paper counts it, and as it should be counted."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from kolmogorov.data import Observations
from kolmogorov.interpret import Relations
from kolmogorov.interpret.relations.points import Convention
from kolmogorov.model.kolmogorov import KolmogorovModel
from kolmogorov.paper.data import split
from kolmogorov.paper.printed import TABLE_6
from kolmogorov.paper.result import Claim, Effort, Panel, Part, Result, verdict

LIKES = 0.5
_MIN_RATINGS = 20
_CONVENTIONS: tuple[Convention, ...] = ("logic", "paper")


def parts(effort: Effort) -> list[Part]:
    """Count on u1.base, and fit it as the paper does."""
    return [Part(f"table6-{(n := effort.pick(2, 20))}", partial(_measured, n))]


def taste(table: Observations, user: int) -> tuple[int, float]:
    """Return how many items a user rated, and the percentage with p >= 0.5."""
    row = int(table.users.encode([user])[0])
    values = table.values[table.rows.indptr[row] : table.rows.indptr[row + 1]]
    return int(values.size), 100 * float((values >= LIKES).mean())


def _measured(sweeps: int) -> dict[str, Any]:
    train, test = split("D2")
    printed = [(item, user, *taste(train, user)) for item, user, _, _ in TABLE_6]
    model = KolmogorovModel.as_in_paper(8, max_iter=sweeps, random_state=0).fit(train)
    full = np.flatnonzero(Relations(model.fitted_, convention="paper").influence == 1.0)
    ours = []
    for item in full.tolist():
        first, last = train.columns.indptr[item], train.columns.indptr[item + 1]
        for user in train.columns.indices[first:last].tolist():
            name = int(train.users.ids[user])
            ours.append((int(train.items.ids[item]), name, *taste(train, name)))
    held = {}
    for likes, word in ((0.6, "at least 3 stars"), (0.8, "at least 4 stars")):
        held[word] = [
            model.relations(min_ratings=_MIN_RATINGS, trivial=False, convention=convention)
            .rules(test, likes, max_rules=None)
            .totals()
            for convention in _CONVENTIONS
        ]
    base = 100 * float((train.values >= LIKES).mean())
    return {"printed": printed, "ours": ours, "items": len(full), "base rate": base, "held": held}


def present(found: dict[str, Any], effort: Effort) -> Result:
    """List the printed rows from u1.base, then the items of influence 1 of our own fit."""
    (measured,) = found.values()
    base = measured["base rate"]
    rows, equal = [], 0
    for (item, user, count, share), (_, _, paper_count, paper_share) in zip(measured["printed"], TABLE_6, strict=True):
        equal += count == paper_count and round(share, 2) == paper_share
        rows.append(_row("the paper's", item, user, count, share, base, paper_count, paper_share))
    rows += [_row("our fit's", item, user, count, share, base) for item, user, count, share in sorted(measured["ours"])]
    shares = [row["accuracy %"] for row in rows if row["items of influence 1"] == "our fit's"]
    mean = float(np.mean([row["paper %"] for row in rows[: len(TABLE_6)]]))
    lines = {
        "our fit's": (list(range(len(shares))), sorted(shares)),
        "paper": (np.linspace(0, max(len(shares) - 1, 1), len(TABLE_6)).tolist(), sorted(r[3] for r in TABLE_6)),
        "base rate": ([0, max(len(shares) - 1, 1)], [base, base]),
    }
    same = {(row["item"], row["user"]) for row in rows[len(TABLE_6) :]} & {row[:2] for row in TABLE_6}
    sentences = [
        f"Our fit has {measured['items']} items of influence 1, with {len(shares)} raters; {len(same)} of the 7 "
        "printed pairs are among them."
    ]
    for word, (right, reverse) in measured["held"].items():
        sentences.append(
            f"On u1.test (likes = {word}, items with {_MIN_RATINGS} ratings or more) implications in our direction "
            f"hold in {100 * right['confidence']:.1f}% of {right['pairs']:.0f} cases against a base rate of "
            f"{100 * right['base_rate']:.1f}%; read in the paper's direction in {100 * reverse['confidence']:.1f}% "
            f"against {100 * reverse['base_rate']:.1f}%."
        )
    right, reverse = measured["held"]["at least 4 stars"]
    lifts = [one["confidence"] / one["base_rate"] for one in (right, reverse)]
    return Result(
        "Table VI: accuracy of logical relations (u1.base, D = 8)",
        rows,
        [Panel("Raters of items with influence score 1", "rater, sorted", "% of rated items liked", lines)],
        [
            Claim(
                "Table VI",
                "seven rows: item, user, items rated, accuracy",
                f"{equal} of 7 to the last digit from u1.base",
                verdict(equal == len(TABLE_6)),
            ),
            Claim(
                "Table VI, abstract",
                f"'the accuracy of logical relation mining exceeds 80%' (its mean is {mean:.1f}%)",
                f"{base:.1f}% of all ratings in u1.base are likes: what is measured is the base rate",
                verdict(mean > base + 5, mean <= base + 5),
            ),
            Claim(
                "Section II-B3",
                "supp(psi_j) in supp(psi_i) gives X_i = 1 => X_j = 1",
                f"held out, at least 4 stars: lift {lifts[1]:.3f} in that direction, {lifts[0]:.3f} in the other",
                verdict(lifts[1] > lifts[0], lifts[1] < lifts[0]),
            ),
        ],
        sentences,
    )


def _row(
    whose: str,
    item: int,
    user: int,
    count: int,
    share: float,
    base: float,
    paper_count: int | None = None,
    paper_share: float | None = None,
) -> dict[str, Any]:
    return {
        "items of influence 1": whose,
        "item": item,
        "user": user,
        "items rated": count,
        "paper": paper_count,
        "accuracy %": round(share, 2),
        "paper %": paper_share,
        "base rate %": round(base, 2),
    }
