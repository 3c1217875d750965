"""MovieLens 100K and 1M: found on disk, or downloaded from GroupLens after showing the licence; whole or not at all."""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import tempfile
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

from kolmogorov._support.progress import notice
from kolmogorov.data.observations import Observations
from kolmogorov.data.options import Reading
from kolmogorov.data.ratings import read_ratings
from kolmogorov.errors import DataError

LICENCE = (
    "MovieLens is made available by GroupLens (University of Minnesota) for research: it may not be "
    "redistributed nor used commercially without permission, and publications must acknowledge it "
    "(Harper & Konstan 2015, doi:10.1145/2827872). The full terms are in the README of the archive."
)
#: A server that says nothing for so long is not there. By judgement.
_TIMEOUT_SECONDS = 30


def load_ml_100k() -> Observations:
    """Return 100,000 ratings of 1,682 films by 943 users, with titles."""
    folder = _ml_100k()
    return read_ratings(folder / "u.data", header=False, maximum=5, titles=folder / "u.item")


def load_ml_1m() -> Observations:
    """Return 1,000,209 ratings of 3,706 films by 6,040 users, with titles.

    Reads GroupLens' ``ratings.dat`` (``user::film::rating::time``) or a ``ratings.csv`` with columns user_id,
    movie_id, rating.
    """
    folder = _ml_1m()
    published = folder / "ratings.dat"
    path = published if published.exists() else folder / "ratings.csv"
    return read_ratings(path, maximum=5, titles=folder / "movies.dat")


def official_folds() -> list[tuple[Observations, Observations]]:
    """Return the five published (train, test) pairs u1 to u5, all over the ids of the whole of ML-100K."""
    folder = _ml_100k()
    whole = load_ml_100k()
    return [(_over(whole, folder / f"u{fold}.base"), _over(whole, folder / f"u{fold}.test")) for fold in range(1, 6)]


def _ml_100k() -> Path:
    url = "https://files.grouplens.org/datasets/movielens/ml-100k.zip"
    return find_or_fetch("ml-100k", needed=("u.data", "u.item"), url=url, md5="0e33842e24a9c977be4e0107933c0723")


def _ml_1m() -> Path:
    needed, url = ("movies.dat", "ratings.dat|ratings.csv"), "https://files.grouplens.org/datasets/movielens/ml-1m.zip"
    return find_or_fetch("ml-1m", needed=needed, url=url, md5="c4d9eecfca2ab87c1945afe126590906")


def _over(whole: Observations, path: Path) -> Observations:
    """Read a part of a table over the ids of the whole."""
    part = read_ratings(path, header=False, maximum=whole.scale.maximum)
    users = whole.users.encode(part.users.ids)[part.user_rows()]
    items = whole.items.encode(part.items.ids)[part.item_rows()]
    ratings, told = part.scale.rating(part.values), Reading(maximum=whole.scale.maximum)
    return Observations.of_rows(whole.users, users, whole.items, items, ratings, told)


def cache_directory() -> Path:
    """Return the directory where downloads are kept: $XDG_CACHE_HOME/kolmogorov or ~/.cache/kolmogorov."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "kolmogorov"


def data_directories() -> list[Path]:
    """Return where datasets are looked for: KOLMOGOROV_DATA if it is set, then the cache directory."""
    named = os.environ.get("KOLMOGOROV_DATA")
    return ([Path(named)] if named else []) + [cache_directory()]


def find_or_fetch(name: str, *, needed: tuple[str, ...], url: str, md5: str) -> Path:
    """Return the folder `name` that holds the needed files; download it once where there is none.

    An entry of `needed` may name alternatives: "a|b". The checksum is the one that GroupLens publishes.
    """
    for directory in data_directories():
        if all(any((directory / name / file).exists() for file in group.split("|")) for group in needed):
            return directory / name
    notice(LICENCE, always=True)
    notice(f"downloading {url} to {cache_directory()}")
    archive = _download(name, url)
    if hashlib.md5(archive, usedforsecurity=False).hexdigest() != md5:
        raise DataError(f"The archive from {url} does not have the published checksum; nothing was kept.")
    return _unpack(name, archive)


def _download(name: str, url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as response:
            content: bytes = response.read()
            return content
    except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
        reason = getattr(error, "reason", error)
        raise DataError(
            f"Dataset '{name}' is not on this machine and {url} could not be reached ({reason}). Put its files into "
            f"{cache_directory() / name}, or set KOLMOGOROV_DATA to the folder that holds the folder '{name}'."
        ) from None


def _unpack(name: str, archive: bytes) -> Path:
    """Unpack beside the final place and move there in one step."""
    home = cache_directory()
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"The cache directory {home} cannot be made: {error.strerror}. Set KOLMOGOROV_DATA.") from None
    with tempfile.TemporaryDirectory(dir=home, prefix=f".{name}.") as scratch:
        packed = Path(scratch) / "archive.zip"
        packed.write_bytes(archive)
        with zipfile.ZipFile(packed) as content:
            content.extractall(scratch)
        target = home / name
        if target.exists():
            shutil.rmtree(target)
        os.replace(Path(scratch) / name, target)
    return target
