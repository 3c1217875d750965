"""Where the seconds of draws go: how many events, starts, hidden ratings, psis, thetas, noise and priors.

`python benchmarks/sweeps.py`: draws with nothing set, on one thread, of MovieLens 100K and of two tables of
`planted.py`. Functions of the chains are wrapped with clocks; what is between them (averages of draws, a look whether
they have settled) is the rest. Compilation is not timed.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from harness import Column, Table, finish, machine, movielens
from planted import made

import kolmogorov as km
from kolmogorov import Observations
from kolmogorov.draws import chain, likelihood, sampler
from kolmogorov.models import learning

#: What is timed: where a function is looked up, its name, and what its seconds are called.
PARTS: list[tuple[Any, str, str]] = [
    (likelihood, "draw_psis", "psis"),
    (likelihood, "draw_emissions", "psis"),
    (likelihood, "draw_thetas", "thetas"),
    (likelihood, "draw_emitted", "thetas"),
    (chain, "draw_hidden", "hidden"),
    (chain.Chain, "sweep", "whole sweeps"),
    (learning, "told_apart", "number"),
    (sampler, "started", "starts"),
]
COLUMNS = [
    Column("table"),
    Column("events", "d"),
    Column("chains", "d"),
    Column("seconds", ".1f"),
    Column("number of events", ".0%"),
    Column("starts", ".0%"),
    Column("hidden ratings", ".0%"),
    Column("psis", ".0%"),
    Column("thetas", ".0%"),
    Column("noise and priors", ".0%"),
    Column("the rest", ".0%"),
]


def main() -> None:
    """Time draws of three tables."""
    print(machine())
    spent: Counter[str] = Counter()
    for owner, name, words in PARTS:
        setattr(owner, name, timed(getattr(owner, name), words, spent))
    table = Table("sweeps", "Draws with nothing set, one thread", "python benchmarks/sweeps.py", COLUMNS)
    for words, observations in tables().items():
        km.BayesianKolmogorovModel(n_chains=1, burn_in=2, n_samples=2, n_jobs=1).fit(observations)
        spent.clear()
        began = time.perf_counter()
        model = km.BayesianKolmogorovModel(random_state=0, n_jobs=1).fit(observations)
        whole = time.perf_counter() - began
        parts = [spent[name] for name in ("hidden", "psis", "thetas")]
        known = [spent["number"], spent["starts"], *parts, spent["whole sweeps"] - sum(parts)]
        shares = [seconds / whole for seconds in (*known, whole - sum(known))]
        table.add(words, model.fitted_.n_events, model.fitted_.n_chains, whole, *shares)
    finish(table)


def tables() -> dict[str, Observations]:
    """Return the tables by name: ratings, votes of yes and no, and few ratings of many users."""
    return {"MovieLens 100K": movielens("ml-100k"), "roll calls": made("roll calls", 0), "tweets": made("tweets", 0)}


def timed(work: Callable[..., Any], words: str, spent: Counter[str]) -> Callable[..., Any]:
    """Return a function that does the same, and counts its seconds."""

    def clocked(*given: Any, **options: Any) -> Any:
        began = time.perf_counter()
        try:
            return work(*given, **options)
        finally:
            spent[words] += time.perf_counter() - began

    return clocked


if __name__ == "__main__":
    main()
