"""What is guessed is said, what is doubtful is asked, and doing what an error advises reads the file."""

import ast
import io
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import naive
from kolmogorov import KolmogorovModel, Observations, read_answers, read_ratings
from kolmogorov.errors import DataError, KolmogorovError

RNG = np.random.default_rng(0)
FRAMES = pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])


def survey(n=40, **more):
    """Eight questions from 1 to 7, and other columns from so much to so much."""
    ends = {f"q{k}": (1, 7) for k in range(8)} | more
    cells = {name: [low, high, *RNG.integers(low, high + 1, n - 2).tolist()] for name, (low, high) in ends.items()}
    return pd.DataFrame({"who": [f"u{k}" for k in range(n)]} | cells)


def listed(values):
    users, items = np.repeat(range(20), 5), np.tile(range(5), 20)
    return pd.DataFrame({"user": users, "item": items, "rating": values})


GRADES = np.arange(100) % 5 + 1
MANY = np.arange(100) % 17 == 3
MARKED = b"\xef\xbb\xbf" + "user,item,rating\nann,a,1\nJosé,b,2\n".encode("latin-1")
LIKERT = "user,item,answer\na,x,Agree\nb,x,Strongly agree\nc,x,disagree\n"
WIDE_WORDS = "who,a,b\nann,often,never\nbob,sometimes,often\n"
SMOKERS = "Name,Age,Smokes,Likes jazz\nann,31,yes,no\nbob,64,no,yes\ncy,25,yes,\n"

#: What is doubtful, the options it is read with, and what the question names.
DOUBTFUL = {
    "ages from 3": (survey(age=(3, 86)), {"wide": True}, "'age'.* 3 to 86.* 1 to 7"),
    "ages from 18": (survey(age=(18, 86)), {"wide": True}, "'age'.* 18 to 86"),
    "sliders": (survey(one=(0, 100), two=(0, 100)), {"wide": True}, "'one' and 1 more.* 0 to 100"),
    "an age beside yes and no": (SMOKERS, {"wide": True}, "'Age'.* 25 to 64"),
    "a survey, or a list": (SMOKERS, {}, "'Age', 'Smokes', 'Likes jazz'"),
    "99 is refused": (listed(np.where(MANY, 99, GRADES)), {}, r"line 5.* 99 .*1 to 5.*missing=99.*maximum=99"),
    "-9 is refused": (listed(np.where(MANY, -9, GRADES)), {}, r"line 5.* -9 .*missing=-9.*minimum=-9"),
    "two values": ("user,item,rating_avg,my_rating\na,x,4.2,5\nb,x,4.2,3\n", {}, "'rating_avg' or 'my_rating'"),
    "two users": ("user_id,customer_id,item,rating\n1,2,a,5\n2,3,a,4\n", {}, "'user_id' or 'customer_id'"),
    "a mark and no UTF-8": (MARKED, {}, "line 3.*utf-8"),
    "agreement": (LIKERT, {}, "map={'disagree': 1, 'Agree': 2, 'Strongly agree': 3}"),
    "numbered": (
        "user,item,answer\na,x,2 - no\nb,x,4 - yes\nc,x,1 - never\n",
        {},
        "map={'1 - never': 1, '2 - no': 2, '4",
    ),
    "words of a wide table": (WIDE_WORDS, {"wide": True}, "map={'never': 1, 'sometimes': 2, 'often': 3}"),
    "no user": (pd.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6], "c": [1, 2, 3]}), {}, "'a', 'b', 'c'.*user="),
    "a wide frame": (pd.DataFrame(GRADES.reshape(20, 5), [f"u{k}" for k in range(20)], list("abcde")), {}, "wide=True"),
}


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "file.csv"
        if isinstance(content, pd.DataFrame):
            content = content.to_csv(index=False)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize("kind", DOUBTFUL)
def test_what_is_doubtful_is_asked(write, kind):
    content, options, named = DOUBTFUL[kind]
    source = content if "frame" in kind or kind == "no user" else write(content)
    with pytest.raises(DataError, match=named):
        read_ratings(source, **options)


#: What is not in doubt, and what its columns are taken for.
SURE = {
    "a date goes before": ("date,name,book,score\n2020-01-01,ann,Dune,5\n2020-01-02,bob,Dune,3\n", {}, "name", "Dune"),
    "a blank header of R": ('"","x","y","z"\n"1","ann","a",5\n"2","bob","a",3\n', {}, "x", "a"),
    "a blank header": (",user,item,rating\n0,ann,a,5\n1,bob,a,3\n", {}, "user", "a"),
    "row names": (",tea,rum\nann,5,3\nbob,1,4\n", {"wide": True}, "index", "rum"),
    "row numbers": (",who,tea,rum\n0,ann,5,3\n1,bob,1,4\n", {"wide": True}, "who", "rum"),
    "row numbers again": ("Unnamed: 0,id,tea,rum\n0,ann,5,3\n1,bob,1,4\n", {"wide": True}, "id", "rum"),
}


@pytest.mark.parametrize("kind", SURE)
def test_what_is_not_in_doubt(write, kind):
    content, options, user, item = SURE[kind]
    found = read_ratings(write(content), **options)
    assert found.source.columns["user"] == user
    assert found.users.ids.tolist() == ["ann", "bob"]
    assert item in found.items.ids
    if user not in ("name", "x"):
        assert naive.cells(read_ratings(pd.read_csv(io.StringIO(content)), **options)) == naive.cells(found)


@pytest.mark.parametrize("columns", [["5,1,3", "1,4,"], ["1,1,5", "1,2,5"], ["0,1,5", ",,3"]])
def test_stars_are_on_one_scale(write, columns):
    rows = "\n".join(f"u{k},{row}" for k, row in enumerate(columns))
    assert read_ratings(write(f"who,a,b,c\n{rows}\n"), wide=True).scale.maximum == 5


@FRAMES
def test_a_survey_in_a_frame(make):
    frame = make(pd.read_csv(io.StringIO(SMOKERS)).replace({np.nan: None}).to_dict("list"))
    found = read_ratings(frame, wide=True, ignore="Age")
    cells = {("ann", "Smokes"): 1.0, ("ann", "Likes jazz"): 0.0, ("bob", "Smokes"): 0.0, ("bob", "Likes jazz"): 1.0}
    assert naive.cells(found) == cells | {("cy", "Smokes"): 1.0}
    assert "1 missing" in str(found.source)
    assert found.source.words == {"yes": 1.0, "no": 0.0}
    scaled = naive.cells(read_ratings(frame, wide=True, scale="column"))
    assert [scaled[name, "Age"] for name in ("ann", "bob", "cy")] == [pytest.approx(6 / 39), 1.0, 0.0]


# --- the advice of the commonest errors ------------------------------------------------------------------------------

#: Errors whose advice is a call, beside those above: what is read, and with which options.
ADVISED = {kind: DOUBTFUL[kind][:2] for kind in DOUBTFUL if kind not in ("a mark and no UTF-8", "no user")} | {
    "NA": ("user,item,rating\na,x,5\nb,x,NA\nc,x,1\n", {}),
    "an empty cell": ("user,item,rating\na,x,5\nb,x,\nc,x,1\n", {}),
    "an id that is missing": ("user,item,rating\n1,7,5\nNA,7,3\n2,8,4\n", {}),
    "a word of a wide table": ("who,a,b\nann,1,2\nbob,x,3\ncas,4,\n", {"wide": True}),
    "a town": ("who,tea,town\nann,yes,Rome\nbob,no,Oslo\n", {"wide": True}),
    "twice": ("user,item,rating\na,x,5\na,x,3\n", {}),
    "thousands": ("user;item;rating\na;x;1,500\nb;x;2,000\n", {}),
    "clicks": ("user,item\na,x\nb,x\nb,y\n", {}),
    "another column": ("user,item,rating\na,x,5\nb,y,1\n", {"value": "ratings"}),
    "a header or not": ("ann,tea,like\nbob,tea,1\n", {}),
    "words that nobody knows": ("user,item,rating\na,x,splendid\nb,x,dull\n", {}),
}
CALL = re.compile(r"\b([a-z]+)=('[^']*'|\[[^\]]*\]|\{[^}]*\}|True|False|-?[\d.]*\d)")


@pytest.mark.parametrize("kind", ADVISED)
def test_doing_what_an_error_advises_reads_the_file(write, kind):
    content, options = ADVISED[kind]
    source = content if isinstance(content, pd.DataFrame) and kind == "a wide frame" else write(content)
    with pytest.raises(KolmogorovError) as refused:
        read_ratings(source, **options)
    said = str(refused.value)
    advice = [(name, text.replace("NUMBER", "1")) for name, text in CALL.findall(said)]
    # Where words are graded, one column that is left out may not be all.
    advice = [call for call in advice if call[0] != "ignore" or "map=" not in said]
    advice += [("value", name) for name in re.findall(r"Did you mean ('\w+')", said)]
    assert advice, said
    for name, text in advice:
        more = {name: ast.literal_eval(text)}
        if name == "wide":
            # Then it is asked how the columns are scaled.
            more["scale"] = "column"
        assert len(read_ratings(source, **options | more))


# --- missing and ordered cells of frames -----------------------------------------------------------------------------


@FRAMES
def test_null_and_nan_are_missing(make):
    columns = {"user": ["a", "b", "c"], "item": ["x", "x", "x"], "rating": [1.0, None, float("nan")]}
    found = read_ratings(make(columns))
    assert naive.cells(found) == {("a", "x"): 1.0}
    assert "1 read, 2 missing" in str(found.source)
    wide = make({"who": ["a", "b"], "x": [1.0, None], "y": [float("nan"), 2.0]})
    assert naive.cells(read_ratings(wide, wide=True)) == {("a", "x"): 0.5, ("b", "y"): 1.0}
    assert naive.cells(read_answers(wide, wide=True)) == {("a", "x"): 1.0, ("b", "y"): 1.0}
    with pytest.raises(DataError, match="row 1: user ids must be texts or whole numbers, got None"):
        read_ratings(make(columns | {"user": ["a", None, "c"]}))
    with pytest.raises(DataError, match="every value is missing"):
        read_ratings(make(columns | {"rating": [None, None, float("nan")]}))


LEVELS = ["no way", "perhaps", "sure"]
SAID = ["sure", "no way", "perhaps"]


@pytest.mark.parametrize(
    "ordered",
    [
        lambda said: pd.DataFrame({"said": pd.Categorical(said, LEVELS, ordered=True)}),
        lambda said: pl.DataFrame({"said": pl.Series(said, dtype=pl.Enum(LEVELS))}),
        lambda said: pa.table(
            {"said": pa.DictionaryArray.from_arrays(list(map(LEVELS.index, said)), LEVELS, ordered=True)}
        ),
    ],
    ids=["pandas", "polars", "pyarrow"],
)
def test_the_order_of_categories_is_that_of_the_answers(ordered):
    answers = pa.table(ordered(SAID)) if not isinstance(ordered(SAID), pa.Table) else ordered(SAID)
    column = answers.column("said")
    given = pa.table({"user": ["a", "b", "c"], "item": ["x"] * 3, "rating": column})
    assert naive.cells(read_ratings(given)) == pytest.approx({("a", "x"): 1, ("b", "x"): 1 / 3, ("c", "x"): 2 / 3})
    between = {("a", "x"): 1.0, ("b", "x"): 0.0, ("c", "x"): 0.5}
    assert naive.cells(read_answers(given)) == between
    wide = pa.table({"who": ["a", "b", "c"], "x": column})
    assert naive.cells(read_answers(wide, wide=True)) == between
    assert naive.cells(read_ratings(wide, wide=True, scale="column")) == between
    # A map goes before the order.
    mapped = read_ratings(given, map={"no way": 0, "perhaps": 1, "sure": 0.5})
    assert naive.cells(mapped) == {("a", "x"): 0.5, ("b", "x"): 0.0, ("c", "x"): 1.0}


# --- lists in the place of a table, where a model is fitted -----------------------------------------------------------

LIST = {"userId": [1, 1, 2, 2], "movieId": [7, 9, 7, 9], "rating": [5.0, 3.5, 4.0, 1.0], "timestamp": [9, 8, 7, 6]}
COUNTED = np.c_[np.repeat(np.arange(40), 10), np.tile(np.arange(10), 40), np.arange(400) % 5 + 1]


@FRAMES
def test_fit_reads_a_list_whose_columns_have_usual_names(make):
    model = KolmogorovModel(2, random_state=0).fit(make(LIST))
    training = model.fitted_.training
    assert naive.cells(training) == {("1", "7"): 1.0, ("1", "9"): 0.7, ("2", "7"): 0.8, ("2", "9"): 0.2}
    assert training.source.columns == {"user": "userId", "item": "movieId", "value": "rating"}
    assert training.source.ignored == ["timestamp"]
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("shift", [0, 100])
def test_an_array_of_three_columns_is_asked_about(shift):
    table = COUNTED + np.array([shift, shift, 0])
    for given in (
        table,
        table.tolist(),
        pd.DataFrame(table, columns=list("abc")),
        pa.table(dict(zip("abc", table.T, strict=True))),
    ):
        with pytest.raises(DataError, match="look like a list of users, items and ratings"):
            KolmogorovModel(2, random_state=0).fit(given)
    assert len(Observations.from_arrays(table[:, 0], table[:, 1], table[:, 2])) == 400
    assert KolmogorovModel(2, random_state=0).fit(Observations.from_dense(table)).n_features_in_ == 3


TABLES = {
    "yes and no": RNG.integers(0, 2, (30, 3)).astype(float),
    "stars": RNG.integers(1, 6, (300, 3)).astype(float),
    "shares": RNG.random((10, 3)),
    "holes": np.array([[1, np.nan, 0], [np.nan, 5, 1], [2, 3, np.nan]]),
}


@FRAMES
@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_three_items_are_tables(make, kind):
    table = TABLES[kind]
    frame = make({name: table[:, k] for k, name in enumerate(("tea", "rum", "gin"))})
    assert naive.cells(Observations.from_dense(frame)) == naive.cells(Observations.from_dense(table))
    model = KolmogorovModel(2, random_state=0).fit(frame)
    assert model.items_.ids.tolist() == ["tea", "rum", "gin"]
    # Few rows could be a list; with the columns that were learned from they are not.
    assert model.transform(make({name: [1.0, 0.0] for name in ("tea", "rum", "gin")})).shape == (2, 2)


def test_a_frame_with_names_in_a_column_says_where_they_go():
    frame = pd.DataFrame({"name": ["ann", "bob"], "tea": [1, 0], "rum": [0, 1]})
    for take in (Observations.from_dense, KolmogorovModel(2).fit):
        with pytest.raises(DataError, match=r"'ann'. kolmogorov.read_ratings\(df, wide=True\)"):
            take(frame)
    expected = {("ann", "tea"): 1.0, ("ann", "rum"): 0.0, ("bob", "tea"): 0.0, ("bob", "rum"): 1.0}
    unnamed = frame.set_index("name").rename_axis(None)
    for given in (frame, frame.set_index("name"), unnamed, unnamed.replace({1: "yes", 0: "no"})):
        assert naive.cells(read_ratings(given, wide=True)) == expected
    # Rows that were left out of a frame leave their numbers behind, which are nobody's names.
    assert naive.cells(read_ratings(frame[::-1], wide=True)) == expected


@FRAMES
def test_an_age_beside_yes_and_no_is_refused_where_a_model_is_fitted(make):
    answers = {name: RNG.integers(0, 2, 20).astype(float) for name in ("tea", "rum", "gin")}
    with pytest.raises(DataError, match=r"'age' is on another scale .* 20 to 39"):
        KolmogorovModel(2).fit(make(answers | {"age": np.arange(20.0, 40.0)}))
    assert KolmogorovModel(2, random_state=0).fit(make(answers)).items_.ids.tolist() == ["tea", "rum", "gin"]
