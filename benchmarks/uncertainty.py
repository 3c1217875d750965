"""Draw the pictures of docs/measured and print their numbers: intervals, calibration, probabilities of rules."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from harness import Column, Table, finish, machine, movielens, reliability

import kolmogorov as km

DOCS = Path(__file__).resolve().parents[1] / "docs" / "measured"
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
PROBABILITIES = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9)
LIKES = 0.8
COVERAGE = [Column("level", ".2f"), Column("share inside", ".3f")]
RULES = [
    Column("rules"),
    Column("number", ",.0f"),
    Column("cases", ",.0f"),
    Column("confidence", ".1%"),
    Column("base rate", ".1%"),
    Column("lift", ".3f"),
]


def main() -> None:
    """Fit MovieLens 100K and the zoo, and look at intervals, calibration and rules on held-out data."""
    print(machine())
    train, test = movielens("ml-100k").split(test_size=0.2, random_state=0)
    model = km.BayesianKolmogorovModel(random_state=0).fit(train)
    intervals(model, test)
    rules(km.BayesianKolmogorovModel(24, psi="binary", random_state=0).fit(train), train, test)
    calibration()
    rhat = model.diagnostics(test)["prediction"]["rhat"]
    print(f"split R-hat of predictions: median {np.median(rhat):.2f}, 90% below {np.quantile(rhat, 0.9):.2f}")


def intervals(model: km.BayesianKolmogorovModel, test: km.Observations) -> None:
    """Draw some intervals, the coverage by level, and the calibration of predictions."""
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    rng = np.random.default_rng(0)
    some = test.subset(np.isin(np.arange(len(test)), rng.choice(len(test), 40, replace=False)))
    low, high = model.predict_interval(some)
    mean = model.posterior_.scale.rating(model.predict(some))
    order = np.argsort(mean)
    left.vlines(np.arange(40), low[order], high[order], color="0.7", linewidth=4, label="90% interval")
    left.plot(np.arange(40), mean[order], "o", markersize=4, label="prediction")
    left.plot(np.arange(40), 5 * some.values[order], "x", color="tab:red", label="rating")
    left.set(title="Forty held-out ratings", xlabel="sorted by prediction", ylabel="stars")
    left.legend(fontsize=8)
    stars, held = 5 * test.values, []
    table = Table(
        "coverage",
        f"Coverage of {len(test)} held-out ratings",
        "python benchmarks/uncertainty.py",
        COVERAGE,
        transposed=True,
    )
    for level in LEVELS:
        low, high = model.predict_interval(test, level=level)
        held.append(float(((stars >= low - 1e-9) & (stars <= high + 1e-9)).mean()))
        table.add(level, held[-1])
    finish(table)
    middle.plot([0.4, 1], [0.4, 1], "--", color="0.6")
    middle.plot(LEVELS, held, "o-")
    middle.set(title="Coverage of held-out ratings", xlabel="level", ylabel="share inside")
    predicted = 5 * model.predict(test)
    place = np.digitize(predicted, np.quantile(predicted, np.linspace(0, 1, 13)[1:-1]))
    points = np.array([(predicted[place == k].mean(), stars[place == k].mean()) for k in range(12)])
    print(f"calibration: largest difference of 12 equal groups {np.abs(points[:, 0] - points[:, 1]).max():.3f} stars")
    right.plot([1.5, 5], [1.5, 5], "--", color="0.6")
    right.plot(points[:, 0], points[:, 1], "o-")
    right.set(title="Calibration, twelve equal groups", xlabel="mean prediction, stars", ylabel="mean rating")
    figure.savefig(DOCS / "intervals.png", dpi=110)


def calibration() -> None:
    """Draw the calibration of both likelihoods on yes/no data."""
    digits = km.datasets.load("digits")
    ink = (digits.values >= 0.5).astype(float)
    table = km.Observations.from_arrays(digits.user_rows(), digits.item_rows(), ink)
    train, test = table.split(test_size=0.2, random_state=0)
    figure, axis = plt.subplots(figsize=(5, 4.5), layout="constrained")
    axis.plot([0, 1], [0, 1], "--", color="0.6")
    for likelihood, style in (("bernoulli", "o-"), ("gaussian", "s-")):
        model = km.BayesianKolmogorovModel(16, likelihood=likelihood, random_state=0).fit(train)  # type: ignore[arg-type]
        points = reliability(test.values, model.predict(test), 15)
        apart = np.abs(points[:, 0] - points[:, 1])
        print(f"digits, {likelihood}: calibration error {apart.mean():.3f}, at most {apart.max():.3f}")
        axis.plot(points[:, 0], points[:, 1], style, label=likelihood)
    axis.set(title="Ink in held-out pixels of digits", xlabel="mean prediction", ylabel="share of yes")
    axis.legend()
    figure.savefig(DOCS / "calibration.png", dpi=110)


def rules(model: km.BayesianKolmogorovModel, train: km.Observations, test: km.Observations) -> None:
    """Draw how often implications hold on held-out ratings by their posterior probability."""
    relations = model.relations(min_ratings=20)
    found = []
    title = "Implications on held-out ratings of MovieLens 100K, likes are at least 4 stars"
    table = Table("posterior-rules", title, "python benchmarks/uncertainty.py", RULES)
    for level in PROBABILITIES:
        rules = relations.rules(test, LIKES, supported=False, min_probability=level, min_support=0, max_rules=None)
        found.append(rules.totals())
        table.add(f"posterior probability at least {level:.1f}", *_figures(found[-1]))
    for size in (8, 24):
        single = km.KolmogorovModel(size, learn_from="ratings", user_reg=25.0, item_reg=0.1, random_state=0).fit(train)
        totals = (
            single.relations(min_ratings=20).rules(test, LIKES, supported=False, min_support=0, max_rules=None).totals()
        )
        table.add(f"point estimate, D = {size}", *_figures(totals))
    finish(table)
    figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
    axis.plot(PROBABILITIES, [100 * totals["confidence"] for totals in found], "o-", label="confidence")
    axis.plot(PROBABILITIES, [100 * totals["base_rate"] for totals in found], "s--", color="0.5", label="base rate")
    axis.set(
        title="Implications on held-out ratings (at least 4 stars)",
        xlabel="posterior probability at least",
        ylabel="%",
    )
    axis.legend()
    figure.savefig(DOCS / "rules.png", dpi=110)


def _figures(totals: dict[str, float]) -> list[float]:
    return [totals[name] for name in ("rules", "pairs", "confidence", "base_rate", "lift")]


if __name__ == "__main__":
    main()
