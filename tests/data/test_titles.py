"""Titles: from files, frames and dictionaries; they travel with tables and models, and ids stay the keys."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kolmogorov as km
from helpers.forgery import TITLE_LIES, forged
from kolmogorov import Observations, read_ratings
from kolmogorov.errors import DataError, FileFormatError

ENTRIES = ([1, 1, 2, 3], [50, 64, 50, 7], [5, 1, 4, 2])
TITLES = {"50": "Star Wars (1977)", "64": "Shawshank, The", "7": "Se7en | a :: film"}
#: As in MovieLens.
LEON = {"50": 'Léon, "the" pro', "64": "Shawshank, The", "7": "Se7en"}
HOSTILE = "<script>alert(1)</script>\x1b[31m\n=1+1"


@pytest.fixture
def ratings():
    return Observations.from_arrays(*ENTRIES)


def labels(observations):
    return dict(zip(observations.items.ids.tolist(), observations.items.labels.tolist(), strict=True))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('movieId,title,genres\n50,Star Wars (1977),x\n64,"Shawshank, The",y\n7,Se7en | a :: film,z\n', TITLES),
        ('title,movie_id\nStar Wars (1977),50\n"Shawshank, The",64\nSe7en | a :: film,7\n', TITLES),
        ('50,Star Wars (1977)\n64,"Shawshank, The"\n7,Se7en | a :: film\n', TITLES),
        ("id\tname\r\n50\tStar Wars (1977)\r\n64\tShawshank, The\r\n7\tSe7en | a :: film\r\n", TITLES),
        ('50;Star Wars (1977);1\n64;"Shawshank, The";2\n\n7;Se7en | a :: film;3\n', TITLES),
        ('50|Léon, "the" pro|01-Jan-1977||http://x?y::z|0|1\n64|Shawshank, The||||u|0\n7|Se7en||||u|1\n', LEON),
        ('50::Léon, "the" pro::Drama|War\n64::Shawshank, The::Drama\n7::Se7en::Crime\n', LEON),
    ],
)
def test_files_of_every_make(tmp_path, ratings, content, expected):
    path = tmp_path / "titles.txt"
    path.write_bytes(content.encode("latin-1"))
    assert labels(ratings.with_titles(items=path)) == expected


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table, "reader"])
def test_dictionaries_and_frames(ratings, make):
    columns = {"year": [1, 2, 3], "title": list(TITLES.values()), "movieId": list(map(int, TITLES))}
    given = TITLES if make is dict else pa.table(columns).to_reader() if make == "reader" else make(columns)
    assert labels(ratings.with_titles(items=given)) == TITLES


def test_ids_are_compared_as_text_and_those_without_a_title_keep_theirs(ratings, caplog):
    with caplog.at_level("INFO", logger="kolmogorov"):
        once = ratings.with_titles(items={"50": "Star Wars", 64: None, 7: ""})
    assert labels(once) == {"7": "7", "50": "Star Wars", "64": "64"}
    assert "1 of 3 items have a title; the others go by their ids" in caplog.text
    assert labels(once.with_titles(items={64: "Escape"})) == {"7": "7", "50": "Star Wars", "64": "Escape"}
    floats = pd.DataFrame({"id": [50.0, np.nan], "name": ["Star Wars", "nobody"]})
    assert labels(ratings.with_titles(items=floats))["50"] == "Star Wars"


def test_titles_of_nothing_here(ratings, tmp_path):
    (tmp_path / "short.csv").write_text("50,Star Wars\n64\n")
    for given, message in (
        (
            {51: "x"},
            "No item has one of these titles: they are for ids such as '51', and the items here are such as '7'",
        ),
        ({}, "there are none"),
        (7, "a dictionary, a frame of two columns or a file of them, got int"),
        (pd.DataFrame({"id": [50]}), "must have two columns, an id and a text; there is 'id'"),
        (tmp_path / "short.csv", "line 2: expected 2 fields"),
        ("absent.csv", "There is no file absent.csv"),
    ):
        with pytest.raises(DataError, match=message):
            ratings.with_titles(items=given)
    # That is found out before ratings are read.
    with pytest.raises(DataError, match="There is no file absent.csv"):
        read_ratings("nowhere.csv", titles="absent.csv")


def test_titles_change_nothing_but_what_is_shown(tmp_path, ratings):
    titled = ratings.with_titles(items=TITLES, users={1: "Ann", 2: "Bob", 3: "Cy"})
    assert titled.fingerprint() == ratings.fingerprint()
    assert ratings.items.labels is None
    assert titled.with_titles() is titled
    plain, model = (km.KolmogorovModel(2, random_state=0).fit(table) for table in (ratings, titled))
    assert model.predict(1, 7) == plain.predict(1, 7)
    assert model.recommend(1, n=1)["title"].tolist() == [TITLES["7"]]
    assert "Ann" in str(model.explain(1, 50))
    assert "Star Wars (1977)" in str(model.explain(1, 50))
    model.save(tmp_path / "m.npz")
    loaded = km.load(tmp_path / "m.npz")
    assert loaded.items_.labels.tolist() == titled.items.labels.tolist()
    assert loaded.users_.labels.tolist() == ["Ann", "Bob", "Cy"]
    assert plain.with_titles(items=TITLES).recommend(1, n=1)["title"].tolist() == [TITLES["7"]]
    assert "title" not in plain.recommend(1, n=1)


def test_titles_of_packed_tables(tmp_path, ratings):
    frame = pd.DataFrame(dict(zip(["user", "item", "value"], ENTRIES, strict=True)))
    packed = km.pack(frame, tmp_path / "packed")
    titled = packed.with_titles(items=TITLES)
    assert labels(titled) == labels(pickle.loads(pickle.dumps(titled))) == TITLES
    assert titled.path == packed.path
    assert labels(titled.split(0.5, random_state=0)[0]) == TITLES
    again = km.pack(titled, tmp_path / "again")
    assert labels(Observations.open(tmp_path / "again")) == labels(again) == TITLES
    assert labels(km.pack(frame, tmp_path / "direct", titles=TITLES)) == TITLES


def test_hostile_titles_are_text(tmp_path, ratings):
    titled = ratings.with_titles(items={50: HOSTILE, 64: "\ud800"})
    model = km.KolmogorovModel(2, random_state=0).fit(titled)
    model.save(tmp_path / "m.npz")
    assert labels(titled)["50"] == HOSTILE == km.load(tmp_path / "m.npz").items_.name(1)
    model.report(tmp_path / "r.html")
    assert "<script>alert(1)" not in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("lie", TITLE_LIES)
def test_lies_about_titles_are_refused(tmp_path, ratings, lie):
    path = tmp_path / "m.npz"
    km.KolmogorovModel(2, random_state=0).fit(ratings.with_titles(items=TITLES)).save(path)
    path.write_bytes(forged(path.read_bytes(), TITLE_LIES[lie]))
    with pytest.raises(FileFormatError):
        km.load(path)
