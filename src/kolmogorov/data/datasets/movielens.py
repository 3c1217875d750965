"""MovieLens 100K and 1M: found on disk, or downloaded from GroupLens after showing the licence."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from kolmogorov.data.datasets.storage import find_or_fetch
from kolmogorov.data.ratings import read_ratings
from kolmogorov.data.reading.gathering import coded
from kolmogorov.data.reading.options import ReadingOptions
from kolmogorov.data.table.observations import Observations

# Digests of the archives as GroupLens publishes them.
_ML_100K = partial(
    find_or_fetch,
    "ml-100k",
    needed=("u.data", "u.item"),
    url="https://files.grouplens.org/datasets/movielens/ml-100k.zip",
    md5="0e33842e24a9c977be4e0107933c0723",
)
_ML_1M = partial(
    find_or_fetch,
    "ml-1m",
    needed=("movies.dat", "ratings.dat|ratings.csv"),
    url="https://files.grouplens.org/datasets/movielens/ml-1m.zip",
    md5="c4d9eecfca2ab87c1945afe126590906",
)


def load_ml_100k() -> Observations:
    """Return 100,000 ratings of 1,682 films by 943 users, with titles and times, in seconds since 1970."""
    folder = _ML_100K()
    return read_ratings(folder / "u.data", header=False, maximum=5, time=3, titles=folder / "u.item")


def load_ml_1m() -> Observations:
    """Return 1,000,209 ratings of 3,706 films by 6,040 users, with titles.

    Reads GroupLens' ``ratings.dat`` (``user::film::rating::time``) or a ``ratings.csv`` with columns user_id,
    movie_id, rating.
    """
    folder = _ML_1M()
    published = folder / "ratings.dat"
    path = published if published.exists() else folder / "ratings.csv"
    return read_ratings(path, maximum=5, titles=folder / "movies.dat")


def official_folds() -> list[tuple[Observations, Observations]]:
    """Return the five published (train, test) pairs u1 to u5, all over the ids of the whole of ML-100K."""
    folder = _ML_100K()
    whole = load_ml_100k()
    return [(_over(whole, folder / f"u{fold}.base"), _over(whole, folder / f"u{fold}.test")) for fold in range(1, 6)]


def _over(whole: Observations, path: Path) -> Observations:
    """Read a part of a table over the ids of the whole."""
    part = read_ratings(path, header=False, maximum=whole.scale.maximum, time=3)
    users = whole.users.encode(part.users.ids)[part.user_rows()]
    items = whole.items.encode(part.items.ids)[part.item_rows()]
    ratings, options = part.scale.rating(part.values), ReadingOptions(maximum=whole.scale.maximum)
    return Observations(*coded(whole.users, users, whole.items, items, ratings, options)).with_times(part.times)
