"""What no model can learn from is refused by every one of them, in the same words; reading it is allowed."""

import numpy as np
import pytest

import kolmogorov as km
from kolmogorov import Observations
from kolmogorov.data.trainable import check_trainable
from kolmogorov.errors import DataError

MODELS = {
    "kolmogorov": lambda: km.KolmogorovModel(2, random_state=0),
    "ratings": lambda: km.KolmogorovModel(2, learn_from="ratings", random_state=0),
    "bayesian": lambda: km.BayesianKolmogorovModel(2, n_chains=1, burn_in=2, n_samples=2, random_state=0),
}
FITS = {name: lambda table, make=make: make().fit(table) for name, make in MODELS.items()}
FITS |= {"tune": lambda table: km.tune(table, n_events=2, folds=2)}


@pytest.fixture
def visits():
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((12, 9)) < 0.4)
    return Observations.from_arrays(users, items, np.ones(users.size))


@pytest.mark.parametrize("name", FITS)
def test_only_yes_is_refused(name, visits, tmp_path):
    for table in (visits, km.pack(visits, tmp_path / "t.kmt"), Observations.from_dense(np.ones((3, 3)))):
        with pytest.raises(DataError, match=r"Only yes is recorded: .*value 1, .*Fill in zeros .*unobserved="):
            FITS[name](table)


@pytest.mark.parametrize("name", FITS)
def test_only_no_is_refused(name, visits):
    nothing = Observations.from_arrays(visits.user_rows(), visits.item_rows(), np.zeros(len(visits)))
    with pytest.raises(DataError, match=r"Only no is recorded: .*value 0"):
        FITS[name](nothing)


@pytest.mark.parametrize("name", FITS)
def test_an_empty_table_is_refused(name, visits, tmp_path):
    for table in (visits, km.pack(visits, tmp_path / "t.kmt")):
        with pytest.raises(DataError, match="There are no observations to learn from; at least one"):
            FITS[name](table.subset(np.zeros(len(visits), dtype=bool)))


@pytest.mark.parametrize("name", MODELS)
def test_an_empty_table_cannot_be_evaluated_on(name, zoo):
    empty = zoo.subset(np.zeros(len(zoo), dtype=bool))
    model = MODELS[name]().fit(zoo)
    with pytest.raises(DataError, match="There are no observations to compare predictions with; at least one"):
        model.evaluate(empty)
    assert model.predict(empty).shape == (0,)


def test_an_empty_table_cannot_be_divided_packed_or_tested_on(zoo, tmp_path):
    empty = zoo.subset(np.zeros(len(zoo), dtype=bool))
    with pytest.raises(DataError, match="There are no observations to split; at least one"):
        empty.split()
    with pytest.raises(DataError, match="There are no observations to deal into folds; at least one"):
        empty.folds(2)
    with pytest.raises(DataError, match="There are no observations to test on; at least one"):
        MODELS["bayesian"]().fit(zoo, test=empty)
    with pytest.raises(DataError, match="There are no observations to look at; at least one"):
        MODELS["bayesian"]().fit(zoo).diagnostics(empty)
    with pytest.raises(DataError, match="There are no observations to pack; at least one"):
        km.pack(empty, tmp_path / "t.kmt")
    assert not list(tmp_path.iterdir())


def test_the_value_is_named_in_rating_units():
    with pytest.raises(DataError, match=r"every observation has the value 4, .*give its end with maximum="):
        check_trainable(Observations.from_arrays([1, 2], [1, 2], [4, 4]))
    with pytest.raises(DataError, match=r"every observation has the value -3, the minimum"):
        check_trainable(Observations.from_arrays([1, 2], [1, 2], [-3, -3], scaling="minmax"))


def test_what_is_not_at_an_end_or_not_all_the_same_is_accepted(visits, tmp_path):
    check_trainable(Observations.from_arrays([1, 2], [1, 2], [4, 4], maximum=5))
    check_trainable(Observations.from_arrays([1], [1], [0.5]))
    values = np.ones(len(visits))
    values[-1] = 0
    almost = Observations.from_arrays(visits.user_rows(), visits.item_rows(), values)
    assert almost.extent() == km.pack(almost, tmp_path / "t.kmt").extent() == (0.0, 1.0)
    km.KolmogorovModel(2, random_state=0).fit(almost)


def test_only_yes_can_be_read_packed_split_and_folded_in(visits, zoo, tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("user,item,value\n" + "".join(f"{k},a,1\n" for k in range(9)))
    assert len(km.read_ratings(path)) == len(km.pack(path, tmp_path / "t.kmt")) == 9
    assert sum(map(len, visits.split(random_state=0))) == len(visits)
    likes = Observations.from_arrays(["newt", "newt"], ["milk", "hair"], [1, 1])
    assert km.KolmogorovModel(3, random_state=0).fit(zoo).fold_in(likes).shape == (1, 3)


def test_a_fold_that_leaves_too_little_is_named():
    table = Observations.from_arrays(range(9), [0] * 9, [1] * 8 + [0])
    with pytest.raises(DataError, match=r"Without fold \d of 3 there is too little to learn from. Only yes"):
        km.tune(table, n_events=1, user_reg=1.0, item_reg=0.0)
