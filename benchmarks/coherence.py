"""Whether the films that name an event belong together: genres shared, beside topics of scikit-learn.

The ten films that name an event are compared by their genres (cosine of the genre vectors, mean over pairs), and so are
films as popular drawn at random: each by one of the thirty nearest in number of ratings. Said is how many times as much
the former share, the mean over events; and how many of all names are different. NMF and LDA are of scikit-learn, on who
likes what (four stars or more), with 16 topics, named by their largest weights. The rule by which events are named
was chosen on u1 of MovieLens 100K; reported are five seeds of models of all of MovieLens 100K and 1M.

    python benchmarks/coherence.py [ml-100k|ml-1m] ...
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Column, Table, data_folder, finish, machine, movielens
from scipy.sparse import csr_array

import kolmogorov as km
from kolmogorov.interpret.events import EventItems

NAMED, DRAWN, NEAR = 10, 20, 15
SEEDS = {"ml-100k": range(5), "ml-1m": range(2)}
Names = list[Any]


def genres(name: str, table: km.Observations) -> Any:
    """Return each film's genres, as vectors of length 1."""
    found: dict[int, list[str]] = {}
    if name == "ml-100k":
        for line in (data_folder() / name / "u.item").read_text(encoding="latin-1").splitlines():
            parts = line.split("|")
            found[int(parts[0])] = [str(k) for k, flag in enumerate(parts[5:]) if flag == "1"]
    else:
        for line in (data_folder() / name / "movies.dat").read_text(encoding="latin-1").splitlines():
            parts = line.split("::")
            found[int(parts[0])] = parts[2].split("|")
    kinds = sorted({kind for film in found.values() for kind in film})
    films = [found[int(film)] for film in table.items.ids.tolist()]
    vectors = np.array([[float(kind in film) for kind in kinds] for film in films])
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def shared(vectors: Any, rows: Any) -> float:
    """Return the mean cosine over pairs of some films."""
    cosines = vectors[rows] @ vectors[rows].T
    return float((cosines.sum() - np.trace(cosines)) / (len(rows) * (len(rows) - 1)))


def judged(vectors: Any, counts: Any, names: Names, rng: np.random.Generator) -> tuple[float, float]:
    """Return how many times as much the films of events share as others as popular do, and the share of other names."""
    order = np.argsort(-counts, kind="stable")
    place = np.empty(len(counts), dtype=int)
    place[order] = np.arange(len(counts))
    others = []
    for rows in names:
        for _ in range(DRAWN):
            drawn: list[int] = []
            for row in rows:
                first = max(0, min(int(place[row]) - NEAR, len(order) - 2 * NEAR - 1))
                near = [film for film in order[first : first + 2 * NEAR + 1].tolist() if film not in drawn]
                drawn.append(int(rng.choice(near)))
            others.append(shared(vectors, drawn))
    own = float(np.mean([shared(vectors, rows) for rows in names]))
    every = np.concatenate(names)
    return own / float(np.mean(others)), len(np.unique(every)) / len(every)


def of_events(fitted: Any) -> Names:
    return [np.array(event.rows) for event in EventItems(fitted).events(NAMED) if len(event.rows) > 1]


def two(table: km.Observations, seed: int) -> Names:
    return of_events(km.KolmogorovModel(random_state=seed).fit(table).fitted_)


def chances(table: km.Observations, seed: int) -> Names:
    return of_events(km.KolmogorovModel(psi="soft", random_state=seed).fit(table).fitted_)


def ratings(table: km.Observations, seed: int) -> Names:
    return of_events(km.KolmogorovModel(16, learn_from="ratings", random_state=seed).fit(table).fitted_)


def topics(kind: str) -> Callable[[km.Observations, int], Names]:
    def fitted(table: km.Observations, seed: int) -> Names:
        from sklearn.decomposition import NMF, LatentDirichletAllocation

        liked = (table.values >= 0.8 - 1e-9).astype(float)
        shape = (table.n_users, table.n_items)
        likes = csr_array((liked, (table.user_rows(), table.item_rows())), shape=shape)
        makers = {"NMF": lambda: NMF(16, max_iter=400, init="nndsvdar", random_state=seed)}
        makers["LDA"] = lambda: LatentDirichletAllocation(16, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            weights = makers[kind]().fit(likes).components_
        return [np.argsort(-topic, kind="stable")[:NAMED] for topic in weights]

    return fitted


METHODS: dict[str, Callable[[km.Observations, int], Names]] = {
    "NMF of likes": topics("NMF"),
    "LDA of likes": topics("LDA"),
    "one model, learned from ratings": ratings,
    "one model": two,
    "one model with chances": chances,
}


def main() -> None:
    """Make a table for each set of ratings that was asked for."""
    print(machine())
    asked = sys.argv[1:] or list(SEEDS)
    for name in asked:
        table = movielens(name)
        vectors, counts = genres(name, table), np.bincount(table.item_rows(), minlength=table.n_items)
        columns = [Column("events, or 16 topics"), Column("genres shared, times chance", ".2f"), Column("sd", ".2f")]
        columns.append(Column("names that are different", ".0%"))
        title = f"{name}, mean over {len(SEEDS[name])} seeds"
        result = Table(f"coherence-{name}", title, f"python benchmarks/coherence.py {name}", columns)
        for method, fit in METHODS.items():
            rng = np.random.default_rng(0)
            found = np.array([judged(vectors, counts, fit(table, seed), rng) for seed in SEEDS[name]])
            result.add(method, found[:, 0].mean(), found[:, 0].std(ddof=1), found[:, 1].mean())
        finish(result)


if __name__ == "__main__":
    main()
