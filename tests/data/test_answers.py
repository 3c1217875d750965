"""Questions with answers of their own: numbers and yes/no on their scales, words as one yes/no column each."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kolmogorov as km
from kolmogorov.errors import DataError, ParameterError

WIDE = "name;drink;smokes;mood\nbob;coffee; yes ;5\nann;;no;1\ncas;NA;no;\n"


def written(folder, text):
    path = folder / "answers.csv"
    path.write_text(text, encoding="utf-8")
    return path


def cells(table):
    frame = table.to_frame("pandas")
    return dict(zip(zip(frame["user"], frame["item"], strict=True), frame["value"].tolist(), strict=True))


def test_every_question_is_on_its_own_scale(tmp_path):
    path = written(tmp_path, WIDE)
    yes_no = {("bob", "smokes"): 1.0, ("ann", "smokes"): 0.0, ("cas", "smokes"): 0.0}
    mood, drink = {("bob", "mood"): 1.0, ("ann", "mood"): 0.2}, {("bob", "drink = coffee"): 1.0}
    assert cells(km.read_answers(path, wide=True, missing="NA")) == yes_no | mood | drink
    scaled = cells(km.read_answers(path, wide=True, missing="NA", minimum=1, maximum=9, ignore="drink"))
    assert scaled == yes_no | {("bob", "mood"): 0.5, ("ann", "mood"): 0.0}
    assert cells(km.read_answers(path, wide=True, ignore=["mood", "smokes"])) == {
        ("bob", "drink = coffee"): 1.0,
        ("bob", "drink = NA"): 0.0,
        ("cas", "drink = coffee"): 0.0,
        ("cas", "drink = NA"): 1.0,
    }


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames(make):
    columns = {"user": [3, 1, 3, 1], "item": ["a", "a", "b", "b"], "answer": ["x", None, "y", "x"]}
    assert cells(km.read_answers(make(columns))) == {
        ("3", "a = x"): 1.0,
        ("3", "b = x"): 0.0,
        ("3", "b = y"): 1.0,
        ("1", "b = x"): 1.0,
        ("1", "b = y"): 0.0,
    }
    frame = make({"who": ["ann", "bob"], "fit": [True, False], "age": [30.3, 60.0], "town": ["York", "Bath"]})
    assert cells(km.read_answers(frame, wide=True)) == {
        ("ann", "fit"): 1.0,
        ("bob", "fit"): 0.0,
        ("ann", "age"): 0.0,
        ("bob", "age"): 1.0,
        ("ann", "town = Bath"): 0.0,
        ("ann", "town = York"): 1.0,
        ("bob", "town = Bath"): 1.0,
        ("bob", "town = York"): 0.0,
    }


@settings(max_examples=30)
@given(
    st.dictionaries(
        st.tuples(st.integers(0, 5), st.sampled_from("abc")), st.sampled_from(["red", "blue", "ä b"]), min_size=1
    )
)
def test_every_answer_is_one_yes_among_noes(tmp_path_factory, answers):
    lines = "".join(f"u{user},{item},{word}\n" for (user, item), word in answers.items())
    table = km.read_answers(written(tmp_path_factory.mktemp("list"), f"user,item,answer\n{lines}{lines}"))
    words = {item: {word for (_, other), word in answers.items() if other == item} for item in "abc"}
    assert cells(table) == {
        (f"u{user}", f"{item} = {word}"): float(word == said)
        for (user, item), said in answers.items()
        for word in words[item]
    }


def test_several_answers_in_a_cell_are_columns_on_request(tmp_path):
    path = written(tmp_path, "who,can,smokes,age\nann,Python; SQL,yes,20\nbob,SQL,no,60\ncas,,no,40\n")
    plain = {(who, "smokes"): float(who == "ann") for who in ("ann", "bob", "cas")}
    plain |= {("ann", "age"): 20 / 60, ("bob", "age"): 1.0, ("cas", "age"): 40 / 60}
    found = cells(km.read_answers(path, wide=True, several=";"))
    can = {
        ("ann", "can = Python"): 1.0,
        ("ann", "can = SQL"): 1.0,
        ("bob", "can = Python"): 0.0,
        ("bob", "can = SQL"): 1.0,
    }
    assert found == pytest.approx(plain | can)
    assert ("ann", "can = Python; SQL") in cells(km.read_answers(path, wide=True))
    listed = written(tmp_path, "user,item,answer\nann,can,a|b\nbob,can,b|c|b\n")
    whole = {("ann", "can = a"): 1, ("ann", "can = b"): 1, ("ann", "can = c"): 0}
    assert cells(km.read_answers(listed, several="|", sep=",")) == whole | {
        ("bob", "can = a"): 0,
        ("bob", "can = b"): 1,
        ("bob", "can = c"): 1,
    }


def test_events_and_rules_name_the_answers():
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=200)
    frame = pd.DataFrame(
        {
            "who": np.arange(200),
            "drink": np.array(["tea", "coffee"])[kind],
            "colour": np.where(rng.random(200) < 0.9, np.array(["red", "blue"])[kind], "green"),
            "early": kind,
        }
    )
    answers = km.read_answers(frame, wide=True)
    model = km.KolmogorovModel(2, random_state=0).fit(answers)
    named = {name for event in model.events() for name in event.items}
    assert {"drink = tea", "colour = red", "early"} <= named
    rules = {" ⇒ ".join(pair) for pair in zip(*model.rules(answers).names(), strict=True)}
    assert "colour = red ⇒ drink = tea" in rules
    assert model.predict(0, "early") > 0.9 if kind[0] else model.predict(0, "early") < 0.1


def test_what_is_unclear_or_wrong_is_said(tmp_path):
    plain = written(tmp_path, "ann,drink,tea\nbob,drink,milk\n")
    with pytest.raises(DataError, match="is the first line a header, with the columns 'ann', 'drink', 'tea'"):
        km.read_answers(plain)
    assert km.read_answers(plain, header=False).items.ids.tolist() == ["drink = milk", "drink = tea"]
    twice = written(tmp_path, "user,item,answer\nann,drink,tea\nann,drink,tea\nann,drink,milk\n")
    with pytest.raises(DataError, match="User 'ann' answers 'drink' with 'tea' and with 'milk'"):
        km.read_answers(twice)
    with pytest.raises(DataError, match="line 3: user ids must be texts or whole numbers, got ''"):
        km.read_answers(written(tmp_path, "user,a,b\nann,x,y\n,x,y\n"), wide=True)
    with pytest.raises(DataError, match="'a' has 300 different answers, and a question may have 256"):
        km.read_answers(pd.DataFrame({"user": range(300), "a": [f"w{k}" for k in range(300)]}), wide=True)
    with pytest.raises(DataError, match="(?i)question 'age'.*'NA'.*missing='NA'"):
        km.read_answers(written(tmp_path, "user,age\nann,30\nbob,NA\ncas,40\n"), wide=True)
    with pytest.raises(DataError, match="Every answer is missing"):
        km.read_answers(pd.DataFrame({"user": [1], "a": [None]}), wide=True)
    with pytest.raises(DataError, match="There is no file"):
        km.read_answers(tmp_path / "absent.csv")
    with pytest.raises(ParameterError, match="ignore goes only with a wide table"):
        km.read_answers(plain, ignore="x")
    with pytest.raises(ParameterError, match="leave out scaling="):
        km.read_answers(plain, scaling="max")
