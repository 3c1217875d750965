"""Ratings that attributes say much of."""

import numpy as np
import pandas as pd

import kolmogorov as km

GENRES = np.array(["Drama", "Horror", "War", "Comedy"])


class Planted:
    """Ratings that attributes say much of: what genres an item has, which job and age a user."""

    def __init__(self, seed=0, n_users=120, n_items=90, share=0.3, noise=0.08):
        rng = np.random.default_rng(seed)
        has = rng.random((n_items, GENRES.size)) < 0.4
        job, age = rng.integers(3, size=n_users), rng.uniform(15, 80, n_users)
        tastes = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
        theta = 0.7 * tastes[job] + 0.3 * rng.dirichlet(np.ones(3), n_users)
        psi = np.clip(0.5 + has @ (0.35 * rng.standard_normal((4, 3))) + 0.1 * rng.standard_normal((n_items, 3)), 0, 1)
        self.chances = theta @ psi.T
        said = np.clip(np.rint(4 * (self.chances + noise * rng.standard_normal(self.chances.shape))), 0, 4) + 1
        self.ratings = np.where(rng.random(said.shape) < share, said, np.nan)
        jobs = np.array(["nurse", "cook", "pilot"])
        self.users = pd.DataFrame({"user": np.arange(n_users), "job": jobs[job], "age": age})
        self.items = pd.DataFrame(
            {"item": np.arange(n_items), "genres": ["|".join(GENRES[row]) or "None" for row in has]}
        )

    def table(self, users=None, items=None):
        """Return the ratings without those of some users and some items."""
        ratings = self.ratings.copy()
        ratings[[] if users is None else users] = np.nan
        ratings[:, [] if items is None else items] = np.nan
        rows, columns = np.nonzero(~np.isnan(ratings))
        return km.Observations.from_arrays(rows, columns, ratings[rows, columns], minimum=1, maximum=5)

    def error(self, found, users, items):
        """Return the root mean square distance from the chances, as share of what the mean would have."""
        chances = self.chances[np.ix_(users, items)]
        return float(np.sqrt(((found - chances) ** 2).mean() / chances.var()))


def grid(model, users, items):
    """Return the predictions of all pairs of some users and items."""
    pairs = np.repeat(users, len(items)), np.tile(items, len(users))
    return model.predict(*pairs, output="probability", unknown="ignore").reshape(len(users), len(items))
