"""The model of answers without order: what is planted, labels in and out, and what must not matter."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kolmogorov as km
from helpers.forgery import forged
from kolmogorov.errors import DataError, FileFormatError, ParameterError

SHORT = {"n_chains": 1, "burn_in": 30, "n_samples": 8, "random_state": 0}
WORDS = np.array(["ape", "bee", "cow", "dog"])


def planted(n_rows=200, n_items=8, n_kinds=3, seed=0):
    """Answers of people of a few kinds, as words, and the chances behind them."""
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.full(4, 0.3), (n_kinds, n_items))[rng.integers(n_kinds, size=n_rows)]
    codes = (rng.random((n_rows, n_items, 1)) > np.cumsum(chances, axis=2)[..., :-1]).sum(axis=2)
    return codes, WORDS[codes].astype(object), chances


def with_gaps(words, share=0.2, seed=1):
    gaps = np.random.default_rng(seed).random(words.shape) < share
    return np.where(gaps, None, words), gaps


def log_loss(model, table, codes, gaps):
    logs = []
    for item in range(codes.shape[1]):
        chances = pd.DataFrame(model.predict_distribution(table, item), columns=model.categories_[item])
        chances = chances.reindex(columns=WORDS, fill_value=0.001).to_numpy()
        rows = np.flatnonzero(gaps[:, item])
        logs.append(np.log(np.maximum(chances[rows, codes[rows, item]], 0.001)))
    return -np.concatenate(logs).mean()


def test_what_is_planted_is_found():
    codes, words, chances = planted()
    table, gaps = with_gaps(words)
    model = km.NominalModel(random_state=0, n_chains=2, burn_in=80).fit(table)
    rows, items = np.nonzero(gaps)
    truth = -np.log(chances[rows, items, codes[rows, items]]).mean()
    alone = km.NominalModel(1, **SHORT).fit(table)
    ours, shares = log_loss(model, table, codes, gaps), log_loss(alone, table, codes, gaps)
    assert ours < truth + 0.35 * (shares - truth)
    filled = model.predict(table)
    assert (filled[~gaps] == words[~gaps]).all()
    assert (filled == words)[gaps].mean() > 0.6


def test_one_event_says_how_frequent_answers_are():
    table = [["tea", "x"]] * 60 + [["coffee", "x"]] * 30 + [["milk", None]] * 10
    model = km.NominalModel(1, n_chains=2, burn_in=5, n_samples=100, random_state=0).fit(table)
    np.testing.assert_allclose(model.predict_distribution(table[:1], 0)[0], [0.3, 0.1, 0.6], atol=0.02)
    np.testing.assert_allclose(model.predict_distribution(table, 1), 1.0)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_same_bits_on_any_number_of_threads(n_jobs):
    _, words, _ = planted(600, 5)
    one = km.NominalModel(**SHORT, n_jobs=None).fit(words)
    other = km.NominalModel(**SHORT, n_jobs=n_jobs).fit(words)
    np.testing.assert_array_equal(one.draws_.logs, other.draws_.logs)


@pytest.fixture(scope="module")
def model():
    return km.NominalModel(**SHORT).fit(planted(80, 4)[1])


@settings(max_examples=25)
@given(st.lists(st.lists(st.sampled_from([*WORDS.tolist(), None, "never"]), min_size=4, max_size=4), min_size=1))
def test_distributions(model, rows):
    for item in range(4):
        found = model.predict_distribution(rows, item)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        assert (found >= 0.0).all()
        # A row is placed by itself, its own answer is not looked at, and what nobody ever answered says nothing.
        alone = [[None if k == item or label == "never" else label for k, label in enumerate(rows[-1])]]
        np.testing.assert_allclose(model.predict_distribution(alone, item)[0], found[-1])


def test_events_given_the_other_answers_are_what_predictions_are_made_of(model):
    codes = np.random.default_rng(0).integers(-1, 3, (6, 4)).astype(np.int16)
    events = model.draws_.events(codes, 2, range(model.draws_.n_draws))
    np.testing.assert_allclose(events.sum(axis=2), 1.0)
    chances = np.exp(model.draws_.logs[:, 2, :, : model.draws_.widths[2]].astype(float))
    said = model.draws_.said(codes, [2])[0]
    np.testing.assert_allclose(np.einsum("knd,kda->na", events, chances) / len(events), said)


def test_frames_keep_their_kind_and_names():
    frame = pd.DataFrame(planted(40, 3)[1], columns=["a", "b", "c"], index=range(100, 140))
    frame.loc[103, "b"] = None
    model = km.NominalModel(**SHORT).fit(frame)
    filled = model.predict(frame)
    assert filled.loc[103, "b"] in WORDS
    assert filled.drop(103).equals(frame.drop(103))
    chances = model.predict_distribution(frame, "b", as_frame=True)
    assert list(chances.columns) == model.categories_["b"]
    np.testing.assert_array_equal(chances.to_numpy(), model.predict_distribution(frame, "b"))
    everything = model.predict_distribution(frame, as_frame=True)
    assert list(everything) == ["a", "b", "c"]
    assert everything["b"].equals(chances)
    polar = pl.from_pandas(frame)
    np.testing.assert_array_equal(model.predict_distribution(polar, "b"), chances.to_numpy())
    assert model.predict(polar)["b"].to_list() == filled["b"].to_list()
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    assert model.predict(arrow)["b"].to_pylist() == filled["b"].to_list()


def test_columns_of_a_frame_are_found_by_name():
    frame = pd.DataFrame(planted(40, 3)[1], columns=["a", "b", "c"])
    frame.loc[3, "b"] = None
    model = km.NominalModel(**SHORT).fit(frame)
    turned = frame[["c", "a", "b"]]
    np.testing.assert_array_equal(model.predict_distribution(turned, "b"), model.predict_distribution(frame, "b"))
    assert model.score(turned) == model.score(frame)
    filled = model.predict(frame)
    assert model.predict(turned).equals(filled[["c", "a", "b"]])
    assert model.predict(pl.from_pandas(turned)).columns == ["c", "a", "b"]
    assert model.predict(pa.Table.from_pandas(turned)).column_names == ["c", "a", "b"]
    for wrong in (frame[["a", "b"]], frame.assign(d="ape"), frame.rename(columns={"c": "d"})):
        with pytest.raises(DataError, match="must have the columns of the fit, 'a', 'b', 'c'; it has 'a', 'b'"):
            model.predict(wrong)


def test_categorical_columns_stay_categorical():
    words = planted(60, 3)[1]
    kind = pd.CategoricalDtype(["dog", "cow", "bee", "ape"], ordered=True)
    frame = pd.DataFrame(words, columns=["a", "b", "c"]).astype({"a": kind})
    frame.loc[[3, 5], ["a", "b"]] = None
    model = km.NominalModel(**SHORT).fit(frame)
    filled = model.predict(frame)
    assert filled["a"].dtype == kind
    assert not filled.isna().to_numpy().any()
    assert filled["b"].dtype != "category"
    assert model.categories_["a"] == sorted(set(words[:, 0]))
    # Rows of which one category alone is known: what is filled in is a category, too.
    few = frame.iloc[[3]].assign(a=pd.Categorical([None], categories=["none such"]))
    assert list(model.predict(few)["a"].cat.categories) == ["none such", filled["a"][3]]
    polar = pl.from_pandas(frame).with_columns(pl.col("a").cast(pl.String).cast(pl.Categorical))
    assert model.predict(polar).schema["a"] == pl.Categorical
    assert model.predict(polar)["a"].cast(pl.String).to_list() == filled["a"].to_list()


def test_labels_of_any_kind():
    table = pd.DataFrame({"yes": [True, False, None] * 8, "size": [1, 2.5, np.nan] * 8, "any": [1, "one", pd.NA] * 8})
    model = km.NominalModel(**SHORT).fit(table)
    assert model.categories_ == {"yes": [False, True], "size": [1, 2.5], "any": [1, "one"]}
    assert not model.predict(table).isna().to_numpy().any()


def test_the_score_is_the_log_loss_of_answers_given_the_others(model):
    _, words, _ = planted(30, 4, seed=5)
    logs = []
    for item in range(4):
        found, labels = model.predict_distribution(words, item), model.categories_[item]
        logs += [np.log(found[row, labels.index(word)]) for row, word in enumerate(words[:, item]) if word in labels]
    assert model.score(words) == pytest.approx(np.mean(logs))
    with pytest.raises(DataError, match="no answers to compare with"):
        model.score([[None] * 4])


def test_wrong_tables_and_parameters(model):
    with pytest.raises(DataError, match="a data frame, or rows of equal length"):
        km.NominalModel().fit(["yes", "no"])
    with pytest.raises(DataError, match="a data frame, or rows of equal length"):
        km.NominalModel().fit([["a", "b"], ["a"]])
    with pytest.raises(DataError, match="at least one row"):
        km.NominalModel().fit(np.empty((0, 2), dtype=object))
    with pytest.raises(DataError, match="1 has no answer at all. Leave the column out"):
        km.NominalModel().fit([["a", None], ["b", None]])
    with pytest.raises(DataError, match="0 has 300 different answers; an item may have 256"):
        km.NominalModel().fit([[k] for k in range(300)])
    with pytest.raises(DataError, match="words, numbers or the like"):
        km.NominalModel().fit(pd.DataFrame({"a": [[1], [2]]}))
    with pytest.raises(DataError, match="distinct names"):
        km.NominalModel().fit(pd.DataFrame([["a", "b"]], columns=["x", "x"]))
    with pytest.raises(DataError, match="must have the columns of the fit, 0, 1, 2, 3; it has 0, 1"):
        model.predict([["ape", "bee"]])
    with pytest.raises(DataError, match="The item 9 is unknown"):
        model.predict_distribution([["ape"] * 4], 9)
    with pytest.raises(ParameterError, match="n_events"):
        km.NominalModel(0).fit([["a"]])


# --- files ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    table = pd.DataFrame({"yes": [True, False, None] * 8, "size": [1, 2.5, np.nan] * 8, "wörd": ["é", "b", "b"] * 8})
    model, path = km.NominalModel(3, **SHORT).fit(table), tmp_path_factory.mktemp("saved") / "survey.km"
    model.save(path)
    return model, table, path


def test_everything_comes_back(saved):
    model, table, path = saved
    back = km.load(path)
    assert type(back) is km.NominalModel
    assert back.categories_ == model.categories_
    kinds = [[type(label) for label in labels] for labels in model.categories_.values()]
    assert [[type(label) for label in labels] for labels in back.categories_.values()] == kinds
    for item, found in model.predict_distribution(table).items():
        np.testing.assert_array_equal(back.predict_distribution(table, item), found)
    assert back.predict(table).equals(model.predict(table))
    assert back.get_params() == model.get_params() | {"random_state": None}


def _meta(name, change):
    def lie(meta, arrays):
        meta[name] = change(meta[name])

    return lie


def _array(name, change):
    def lie(meta, arrays):
        arrays[name] = np.ascontiguousarray(change(arrays[name]))

    return lie


#: What a file may say of a model of answers that is not true, and the words with which it is refused.
LIES = {
    "no items": (_meta("items", lambda names: []), "there must be items"),
    "items that are a text": (_meta("items", lambda names: "abc"), "there must be items"),
    "an item twice": (_meta("items", lambda names: [names[0], *names[:2]]), "distinct texts or numbers"),
    "an item that is a list": (_meta("items", lambda names: [[1], *names[1:]]), "distinct texts or numbers"),
    "an item too many": (_meta("items", lambda names: [*names, "more"]), "1 to 256 categories"),
    "a category twice": (_meta("categories", lambda found: [[False, False], *found[1:]]), "distinct"),
    "a category that is nothing": (_meta("categories", lambda found: [[None, True], *found[1:]]), "distinct"),
    "an item without categories": (_meta("categories", lambda found: [[], *found[1:]]), "distinct"),
    "a category too many": (_meta("categories", lambda found: [[*found[0], "x"], *found[1:]]), "do not belong"),
    "a category too few": (_meta("categories", lambda found: [found[0][:1], *found[1:]]), "logarithms of chances"),
    "hundreds of categories": (_meta("categories", lambda found: [list(range(300)), *found[1:]]), "1 to 256"),
    "a recipe that is none": (_meta("recipe", lambda recipe: {"wide": "rm -rf"}), "wide"),
    "a number that is none": (_array("logs", lambda logs: logs * np.nan), "logarithms of chances"),
    "chances above 1": (_array("logs", lambda logs: logs + 1), "logarithms of chances"),
    "chances of nothing": (_array("logs", lambda logs: logs - np.inf), "logarithms of chances"),
    "chances that are too small": (_array("logs", lambda logs: logs - 1), "sum to 1"),
    "other numbers": (_array("logs", lambda logs: logs.astype(np.float64)), "logs must be float32 in 3"),
    "a draw too few": (_array("logs", lambda logs: logs[1:]), "do not belong together"),
    "no draws": (_array("log_shares", lambda shares: shares[:0]), "do not belong together"),
    "shares without end": (_array("log_shares", lambda shares: -np.inf * np.ones_like(shares)), "logarithms"),
    "shares that sum to more": (_array("log_shares", lambda shares: 0.0 * shares), "sum to 1"),
    "other events than were asked for": (
        lambda meta, arrays: meta["parameters"].update(n_events=4),
        "n_events is 4, but there are 3 events",
    ),
    "a parameter of the run": (lambda meta, arrays: meta["parameters"].update(random_state=1), "does not belong"),
    "no labels": (lambda meta, arrays: meta.pop("categories"), "categories"),
}


@pytest.mark.parametrize(("lie", "words"), LIES.values(), ids=LIES)
def test_a_file_that_lies_is_refused(saved, tmp_path, lie, words):
    (tmp_path / "forged.km").write_bytes(forged(saved[2].read_bytes(), lie))
    with pytest.raises(FileFormatError, match=words):
        km.load(tmp_path / "forged.km")


def test_a_file_that_is_only_put_together_again_loads(saved, tmp_path):
    """Otherwise the forgeries above would prove nothing."""
    (tmp_path / "same.km").write_bytes(forged(saved[2].read_bytes(), lambda meta, arrays: None))
    assert km.load(tmp_path / "same.km").categories_ == saved[0].categories_


def test_labels_that_no_file_can_hold(tmp_path):
    for label in (pd.Timestamp("2020-01-01"), float("inf"), "\ud800", 10**50, ("a", "b")):
        frame = pd.DataFrame({"a": ["x", label] * 4, "b": ["y", "z"] * 4}, dtype=object)
        model = km.NominalModel(**SHORT).fit(frame)
        with pytest.raises(DataError, match="'a' has .* Make texts of them before the fit"):
            model.save(tmp_path / "m.km")


# --- lists of answers ---------------------------------------------------------------------------------------------


def test_a_list_of_answers_is_the_table_of_them(tmp_path):
    words = planted(60, 4)[1]
    table, _ = with_gaps(words)
    # Items come in the order of the list.
    table[0] = words[0]
    frame = pd.DataFrame(table, columns=list("abcd"))
    said = [(row, "abcd"[column]) for row in range(60) for column in range(4) if table[row][column] is not None]
    lines = [f"u{row},{item},{frame.loc[row, item]}" for row, item in said]
    path = tmp_path / "answers.csv"
    path.write_text("user,item,answer\n" + "\n".join(lines))
    one, other = km.NominalModel(**SHORT).fit(frame), km.NominalModel(**SHORT).fit(km.read_answers(path))
    np.testing.assert_array_equal(one.draws_.logs, other.draws_.logs)
    filled = other.predict(km.read_answers(path))
    assert filled.answers == one.predict(frame).T.to_numpy().tolist()
    # People who say little are placed all the same, and what nobody was asked is an error.
    path.write_text("user,item,answer\nnew,c,bee\n")
    little = pd.DataFrame([[None, None, "bee", None]], columns=list("abcd"))
    found = other.predict_distribution(km.read_answers(path), "a")
    np.testing.assert_array_equal(found, one.predict_distribution(little, "a"))
    path.write_text("user,item,answer\nnew,z,bee\n")
    with pytest.raises(DataError, match="The item 'z' is unknown"):
        other.predict(km.read_answers(path))


def test_a_number_that_was_read_from_a_file_is_found():
    model = km.NominalModel(**SHORT).fit([[1, "x"], [2, "y"]] * 10)
    np.testing.assert_array_equal(
        model.predict_distribution([["2", None]], 1), model.predict_distribution([[2, None]], 1)
    )
