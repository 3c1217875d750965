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
    years = np.array([int(votes.items.name(row).rsplit("(", 1)[1][:4]) for row in range(votes.n_items)])
    untitled = [row for row in range(votes.n_items) if votes.items.name(row) == votes.items.ids[row]]
    assert 20 <= len(untitled) <= 30
    assert all("Resolution" in votes.items.name(row) or "A motion" in votes.items.name(row) for row in untitled)
    titles = " ".join(votes.items.name(row) for row in range(votes.n_items))
    assert not any(wrong in titles for wrong in ("adupted", "adopted by", "Ã", "<d3>"))
    recent = datasets.load("un-votes", since=2015)
    assert recent.n_items == (years >= 2015).sum()


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


def test_planted_tables_come_from_their_model():
    truth = datasets.planted(n_users=40, n_items=30, n_events=5, n_observations=500, random_state=3)
    obs = truth.observations
    assert 350 < len(obs) <= 500
    exact = np.einsum("nd,nd->n", truth.theta[obs.user_rows()], truth.psi[obs.item_rows()])
    np.testing.assert_allclose(obs.values, exact, atol=1e-12)
    np.testing.assert_allclose(truth.theta.sum(axis=1), 1)
    flips = datasets.load("planted", binary=True)
    assert flips.is_binary
    noisy = datasets.load("planted", noise=0.1)
    assert not np.array_equal(noisy.values, datasets.load("planted").values)
    with pytest.raises(ParameterError, match="'n_events' must be an integer >= 1"):
        datasets.planted(n_events=0)


def test_unknown_names_are_told():
    with pytest.raises(ParameterError, match=r"Unknown dataset 'ml-1k'.*Did you mean 'ml-1m'|'ml-100k'"):
        datasets.load("ml-1k")
    with pytest.raises(ParameterError, match="official folds"):
        datasets.folds("zoo")
    assert set(datasets.names()) >= {"zoo", "digits", "toy", "planted", "ml-100k", "ml-1m"}


def test_movielens_100k(data_directory):
    obs = datasets.load("ml-100k")
    assert (obs.n_users, obs.n_items, len(obs)) == (943, 1682, 100_000)
    assert obs.items.name(obs.items.encode([1])[0]) == "Toy Story (1995)"
    folds = datasets.folds("ml-100k")
    assert [(len(train), len(test)) for train, test in folds] == [(80_000, 20_000)] * 5
    tested = np.concatenate([test.user_rows().astype(np.int64) * 1682 + test.item_rows() for _, test in folds])
    assert np.unique(tested).size == 100_000


def test_movielens_1m(data_directory):
    obs = datasets.load("ml-1m")
    assert (obs.n_users, obs.n_items, len(obs)) == (6040, 3706, 1_000_209)
    assert obs.items.parse("Toy Story (1995)") == "1"


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


@pytest.mark.parametrize("wanted", [50, 9000, 10**6])
def test_planted_tables_have_the_asked_number_of_cells(wanted):
    assert len(datasets.load("planted", n_users=100, n_items=100, n_observations=wanted)) == min(wanted, 10_000)


def test_options_of_datasets_are_checked():
    with pytest.raises(ParameterError, match="'zoo' does not take these options: random_state"):
        datasets.load("zoo", random_state=1)
    with pytest.raises(ParameterError, match="'n_observations' must be an integer >= 1 or None"):
        datasets.planted(n_observations=2.5)
