"""Tables to try things on: bundled, generated, and MovieLens, found on disk or downloaded from GroupLens.

Sources and licences of the bundled ones are beside their files.
"""

import csv
import hashlib
import http.client
import io
import json
import lzma
import os
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.display import notice
from kolmogorov._support.seeds import generator
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import NONE, check_parameters, integer, real, suggestion
from kolmogorov.data.observations import Observations
from kolmogorov.data.read import read_ratings
from kolmogorov.data.scale import Terms
from kolmogorov.data.told import Provenance
from kolmogorov.data.vocabulary import Vocabulary
from kolmogorov.errors import DataError, ParameterError

__all__ = ["Planted", "folds", "load", "names", "planted"]

_FILES = files("kolmogorov.data") / "files"
#: Who made a table, and under which licence it is given on; the page of a model says it.
CREDITS: dict[str, str] = json.loads((_FILES / "credits.json").read_text("utf-8"))
_LICENCE = (
    "MovieLens is made available by GroupLens (University of Minnesota) for research: it may not be redistributed nor "
    "used commercially without permission, and publications must acknowledge it. The full terms are in the archive."
)
#: The checksums of archives that GroupLens publishes.
_MD5 = {"ml-100k": "0e33842e24a9c977be4e0107933c0723", "ml-1m": "c4d9eecfca2ab87c1945afe126590906"}
#: A server that says nothing for so many seconds is not there. By judgement.
_TIMEOUT = 30
#: Cells of a planted table that are computed together: ten million need no large temporary.
_BLOCK = 1 << 18


def load(name: str, **options: Any) -> Observations:
    """Load a dataset by name.

    The options are `since`, a year, of "un-votes"; `random_state` of "toy"; those of `planted` of "planted".
    """
    if name not in _DATASETS:
        near = suggestion(str(name), _DATASETS)
        raise ParameterError(f"Unknown dataset {name!r}; known: {', '.join(_DATASETS)}.{near}")
    try:
        table = _DATASETS[name][0](**options)
    except TypeError as error:
        raise ParameterError(f"Dataset '{name}' does not take these options: {', '.join(options)}.") from error
    return table.over(source=replace(table.source or Provenance(), name=name, credit=CREDITS.get(name, "")))


def folds(name: str = "ml-100k") -> list[tuple[Observations, Observations]]:
    """Return a dataset's official (train, test) pairs: u1 to u5 of MovieLens 100K, over the ids of the whole table."""
    if name != "ml-100k":
        raise ParameterError(f"Only 'ml-100k' comes with official folds, got {name!r}.")
    whole, folder = _ml_100k(), _movielens("ml-100k")

    def part(path: Path) -> Observations:
        found = read_ratings(path, header=False, maximum=5)
        users = whole.users.translate(found.users)[found.user_rows()]
        items = whole.items.translate(found.items)[found.item_rows()]
        ratings = found.scale.rating(found.values)
        return Observations.of_rows(whole.users, users, whole.items, items, ratings, Terms(maximum=5))

    return [(part(folder / f"u{fold}.base"), part(folder / f"u{fold}.test")) for fold in range(1, 6)]


def names() -> dict[str, str]:
    """Return every dataset's name with one line about it."""
    return {name: about for name, (_, about) in _DATASETS.items()}


# --- bundled ----------------------------------------------------------------------------------------------------------


def _wide(name: str, maximum: float, ignore: str) -> Observations:
    with as_file(_FILES / name) as path:
        return read_ratings(path, wide=True, ignore=ignore.split(), maximum=maximum).over(source=None)


def _un_votes(since: int = 2000) -> Observations:
    """Yes is 1, abstain 0.5 and no 0. Motions without a title on record go by their ids."""
    text = lzma.decompress((_FILES / "un-votes.csv.xz").read_bytes()).decode("utf-8")
    header, *motions = csv.reader(text.splitlines())
    motions = [row for row in motions if int(row[1][:4]) >= since]
    countries, letters = np.array(header[3].split("|")), np.array([list(row[3]) for row in motions])
    rows, columns = np.nonzero(letters != "-")
    ratings = [{"n": 0.0, "a": 0.5, "y": 1.0}[letter] for letter in letters[rows, columns]]
    voted = np.array([row[0] for row in motions])[rows]
    votes = Observations.from_arrays(countries[columns], voted, ratings, maximum=1)
    words = Provenance(words={"yes": 1.0, "abstain": 0.5, "no": 0.0})
    return votes.over(source=words).with_titles(items={motion: title or motion for motion, _, title, _ in motions})


# --- generated --------------------------------------------------------------------------------------------------------


def _digits() -> Observations:
    """Return ink / 16; pixel r * 8 + c is at row r, column c."""
    from sklearn.datasets import load_digits

    return Observations.from_dense(load_digits().data, maximum=16)


class Planted(NamedTuple):
    """A sampled table with the truth it was sampled from: psi, bool[n_items, D], is whether an item is in an event."""

    observations: Observations
    theta: Floats
    psi: NDArray[np.bool_]


def planted(
    n_users: int = 200,
    n_items: int = 100,
    n_events: int = 4,
    n_observations: int | None = None,
    noise: float = 0.0,
    binary: bool = False,
    random_state: Any = 0,
) -> Planted:
    """Sample a Kolmogorov model and observations of it.

    So many distinct cells are observed, or all. `noise` is the standard deviation of the Gaussian added to each
    probability, which is then clipped to [0, 1]; with `binary`, coin flips are observed instead of probabilities.
    """
    rules = dict.fromkeys(("n_users", "n_items", "n_events"), integer(1))
    check_parameters("planted", locals(), rules | {"noise": real(0.0), "n_observations": integer(1) | NONE})
    rng = generator(random_state)
    # Users of few events.
    theta = rng.dirichlet(np.full(n_events, 0.5), size=n_users)
    psi = rng.random((n_items, n_events)) < 0.5
    users, items = np.divmod(_cells(rng, n_users * n_items, n_observations), n_items)
    probabilities, chances = np.empty(users.size), psi.astype(np.float64)
    for first in range(0, users.size, _BLOCK):
        part = slice(first, first + _BLOCK)
        probabilities[part] = np.einsum("nd,nd->n", theta[users[part]], chances[items[part]])
    if binary:
        probabilities = (rng.random(users.size) < probabilities).astype(np.float64)
    elif noise:
        probabilities += noise * rng.standard_normal(users.size)
    names, ratings = (Vocabulary.range(n_users), Vocabulary.range(n_items)), np.clip(probabilities, 0.0, 1.0)
    return Planted(Observations.of_rows(names[0], users, names[1], items, ratings, Terms(maximum=1)), theta, psi)


def _cells(rng: np.random.Generator, cells: int, wanted: int | None) -> NDArray[np.int64]:
    """Choose distinct cells at random, in increasing order, without a list of all cells where they are many."""
    if wanted is None or wanted >= cells:
        return np.arange(cells)
    if wanted > cells // 4:
        return np.sort(rng.permutation(cells)[:wanted])
    chosen = np.empty(0, dtype=np.int64)
    while chosen.size < wanted:
        chosen = np.union1d(chosen, rng.integers(cells, size=wanted - chosen.size))
    return chosen


# --- MovieLens --------------------------------------------------------------------------------------------------------


def _ml_100k() -> Observations:
    folder = _movielens("ml-100k")
    return read_ratings(folder / "u.data", header=False, maximum=5, titles=folder / "u.item")


def _ml_1m() -> Observations:
    """Read GroupLens' ratings.dat (user::film::rating::time), or a ratings.csv with user_id, movie_id, rating."""
    folder = _movielens("ml-1m")
    path = folder / "ratings.dat"
    return read_ratings(path if path.exists() else folder / "ratings.csv", maximum=5, titles=folder / "movies.dat")


def data_directories() -> list[Path]:
    """Return where datasets are looked for: KOLMOGOROV_DATA if it is set, then where downloads are kept."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return [Path(path) for path in (os.environ.get("KOLMOGOROV_DATA"), Path(cache, "kolmogorov")) if path]


def _movielens(name: str) -> Path:
    """Return the folder that holds a table of MovieLens; download it once, whole, where there is none."""
    for directory in data_directories():
        if (directory / name).is_dir():
            return directory / name
    home, url = data_directories()[-1], f"https://files.grouplens.org/datasets/movielens/{name}.zip"
    notice(_LICENCE, always=True)
    notice(f"downloading {url} to {home}")
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT) as response:
            archive = response.read()
    except (http.client.HTTPException, OSError) as error:
        raise DataError(
            f"Dataset '{name}' is not on this machine and {url} could not be reached "
            f"({getattr(error, 'reason', error)}). Put its files into {home / name}, or set KOLMOGOROV_DATA to the "
            f"folder that holds the folder '{name}'."
        ) from None
    if hashlib.md5(archive, usedforsecurity=False).hexdigest() != _MD5[name]:
        raise DataError(f"The archive from {url} does not have the published checksum; nothing was kept.")
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home, prefix=f".{name}.") as scratch:
            zipfile.ZipFile(io.BytesIO(archive)).extractall(scratch)
            os.replace(Path(scratch, name), home / name)
    except OSError as error:
        raise DataError(f"{home / name} cannot be written: {error.strerror}. Set KOLMOGOROV_DATA.") from None
    return home / name


_ABOUT_PEOPLE = "knowledge interest gender age income education region"
#: Every dataset: the function that makes it, and a line about it.
_DATASETS: dict[str, tuple[Callable[..., Observations], str]] = {
    "zoo": (lambda: _wide("zoo.csv", 1, "legs type"), "101 animals × 15 yes/no traits; bundled"),
    "un-votes": (_un_votes, "193 countries × 1,862 motions of the UN since 2000; bundled"),
    "food": (lambda: _wide("food.csv.xz", 5, _ABOUT_PEOPLE), "1,276 people × 40 cuisines, 1 to 5; bundled"),
    "digits": (_digits, "1,797 images × 64 pixels; from scikit-learn"),
    "toy": (
        lambda random_state=0: Observations.from_dense(generator(random_state).random((20, 40)), maximum=1),
        "20 × 40 uniform numbers, the paper's D1; generated",
    ),
    "planted": (lambda **options: planted(**options).observations, "sampled from a known model; generated"),
    "ml-100k": (_ml_100k, "MovieLens 100K, the paper's D2; downloaded"),
    "ml-1m": (_ml_1m, "MovieLens 1M, the paper's D3; downloaded"),
}
