import hashlib
import io
import zipfile

import numpy as np
import pytest

from kolmogorov import datasets
from kolmogorov.errors import DataError, ParameterError


def test_zoo(zoo):
    assert (zoo.n_users, zoo.n_items, len(zoo)) == (101, 15, 1515)
    assert zoo.is_binary
    table = dict(zip(zip(zoo.user_rows(), zoo.item_rows(), strict=True), zoo.values, strict=True))
    dolphin, milk, feathers = zoo.users.encode(["dolphin"])[0], *zoo.items.encode(["milk", "feathers"])
    assert table[dolphin, milk] == 1.0
    assert table[dolphin, feathers] == 0.0


def test_votes_of_the_general_assembly():
    votes = datasets.load("un-votes")
    assert (votes.n_users, votes.n_items, len(votes)) == (193, 1862, 321529)
    assert np.unique(votes.values).tolist() == [0.0, 0.5, 1.0]
    embargo = [row for row in range(votes.n_items) if "embargo imposed by the United States" in votes.items.name(row)]
    table = votes.to_frame("pandas")
    said = table[table["item"].isin(votes.items.ids[embargo])].groupby("user")["rating"].mean()
    assert len(embargo) >= 15
    assert said["Cuba"] == 1.0
    assert said["United States"] < 0.1
    names = votes.items.labels.tolist()
    untitled = [name for name in names if name in votes.items.ids]
    assert 20 <= len(untitled) <= 30
    assert all("Resolution" in name or "A motion" in name for name in untitled)
    assert not any(wrong in " ".join(names) for wrong in ("adupted", "adopted by", "Ã", "<d3>"))
    recent = sum(int(name.rsplit("(", 1)[1][:4]) >= 2015 for name in names)
    assert datasets.load("un-votes", since=2015).n_items == recent


def test_food():
    food = datasets.load("food")
    assert (food.n_users, food.n_items, len(food), food.scale.maximum) == (1276, 40, 23943, 5.0)
    means = food.to_frame("pandas").groupby("item")["rating"].mean()
    assert means.idxmax() == "Italy"


def test_generated_tables():
    toy = datasets.load("toy")
    assert (toy.n_users, toy.n_items, len(toy)) == (20, 40, 800)
    assert np.array_equal(toy.values, datasets.load("toy", random_state=0).values)
    assert not np.array_equal(toy.values, datasets.load("toy", random_state=1).values)
    digits = datasets.load("digits")
    assert (digits.n_users, digits.n_items, digits.scale.maximum) == (1797, 64, 16.0)


@pytest.mark.parametrize("wanted", [500, 1199, 10**6])
def test_planted_tables_come_from_their_model(wanted):
    truth = datasets.planted(n_users=40, n_items=30, n_events=5, n_observations=wanted, random_state=3)
    obs = truth.observations
    assert len(obs) == min(wanted, 1200)
    exact = np.einsum("nd,nd->n", truth.theta[obs.user_rows()], truth.psi[obs.item_rows()])
    np.testing.assert_allclose(obs.values, exact, atol=1e-12)
    np.testing.assert_allclose(truth.theta.sum(axis=1), 1)
    assert len(datasets.load("planted", n_users=100, n_items=100, n_observations=50)) == 50
    assert datasets.load("planted", binary=True).is_binary
    assert not np.array_equal(datasets.load("planted", noise=0.1).values, datasets.load("planted").values)


def test_what_there_is_not_is_told():
    assert set(datasets.names()) >= {"zoo", "digits", "toy", "planted", "ml-100k", "ml-1m"}
    for wrong, words in (
        (lambda: datasets.load("ml-1k"), r"Unknown dataset 'ml-1k'.*Did you mean 'ml-1m'|'ml-100k'"),
        (lambda: datasets.folds("zoo"), "official folds"),
        (lambda: datasets.load("zoo", random_state=1), "'zoo' does not take these options: random_state"),
        (lambda: datasets.planted(n_observations=2.5), "'n_observations' must be an integer >= 1 or None"),
        (lambda: datasets.planted(n_events=0), "'n_events' must be an integer >= 1"),
    ):
        with pytest.raises(ParameterError, match=words):
            wrong()


def test_movielens_100k(data_directory):
    obs = datasets.load("ml-100k")
    assert (obs.n_users, obs.n_items, len(obs)) == (943, 1682, 100_000)
    assert obs.items.name(obs.items.encode([1])[0]) == "Toy Story (1995)"
    folds = datasets.folds("ml-100k")
    assert [(len(train), len(test)) for train, test in folds] == [(80_000, 20_000)] * 5
    tested = np.concatenate([test.user_rows().astype(np.int64) * 1682 + test.item_rows() for _, test in folds])
    assert np.unique(tested).size == 100_000


def test_movielens_1m_in_its_published_layout(tmp_path, monkeypatch):
    folder = tmp_path / "ml-1m"
    folder.mkdir()
    (folder / "ratings.dat").write_text("1::1193::5::978300760\n1::661::3::978302109\n2::661::4::1\n")
    (folder / "movies.dat").write_bytes("1193::Café (1975)::Drama\n661::James (1996)::Children's\n".encode("latin-1"))
    monkeypatch.setenv("KOLMOGOROV_DATA", str(tmp_path))
    obs = datasets.load("ml-1m")
    assert len(obs) == 3
    assert obs.items.labels.tolist() == ["James (1996)", "Café (1975)"]


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KOLMOGOROV_DATA", raising=False)
    return tmp_path


def test_without_network_it_says_where_to_put_the_files(nowhere, monkeypatch, capsys):
    def unreachable(*args, **kwargs):
        raise OSError("no route to host")

    monkeypatch.setattr("urllib.request.urlopen", unreachable)
    with pytest.raises(DataError, match=r"could not be reached \(no route to host\).*cache/kolmogorov/ml-100k, or set"):
        datasets.load("ml-100k")
    assert "GroupLens" in capsys.readouterr().err


def test_downloads_are_checked_and_unpacked_whole(nowhere, monkeypatch):
    archive, home = nowhere / "made.zip", nowhere / "cache" / "kolmogorov"
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr("ml-100k/u.data", "1\t5\t4\t0\n2\t7\t5\t0\n")
        out.writestr("ml-100k/u.item", "5|Alien\n7|Brazil\n")
    monkeypatch.setattr("urllib.request.urlopen", lambda url, timeout: io.BytesIO(archive.read_bytes()))
    with pytest.raises(DataError, match="does not have the published checksum; nothing was kept"):
        datasets.load("ml-100k")
    assert not home.exists()
    monkeypatch.setitem(datasets._MD5, "ml-100k", hashlib.md5(archive.read_bytes()).hexdigest())
    assert datasets.load("ml-100k").items.labels.tolist() == ["Alien", "Brazil"]
    monkeypatch.delattr("urllib.request.urlopen")
    assert len(datasets.load("ml-100k")) == 2
    assert [path.name for path in home.iterdir()] == ["ml-100k"]
