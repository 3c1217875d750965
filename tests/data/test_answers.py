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
def test_every_answer_is_one_yes_among_noes(answers):
    users, items = zip(*answers, strict=True)
    frame = pd.DataFrame({"user": users, "item": items, "answer": answers.values()})
    words = {item: {word for (_, other), word in answers.items() if other == item} for item in "abc"}
    assert cells(km.read_answers([frame, frame])) == {
        (str(user), f"{item} = {word}"): float(word == said)
        for (user, item), said in answers.items()
        for word in words[item]
    }


def test_several_answers_in_a_cell_are_columns_on_request(tmp_path):
    path = written(tmp_path, "who,can,smokes\nann,Python; SQL,yes\nbob,SQL,no\ncas,,no\n")
    plain = {(who, "smokes"): float(who == "ann") for who in ("ann", "bob", "cas")}
    can = {("ann", "can = Python"): 1, ("ann", "can = SQL"): 1, ("bob", "can = Python"): 0, ("bob", "can = SQL"): 1}
    assert cells(km.read_answers(path, wide=True, several=";")) == plain | can
    assert ("ann", "can = Python; SQL") in cells(km.read_answers(path, wide=True))


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
    plain, wide = "ann,drink,tea\nbob,drink,milk\n", {"wide": True}
    many = "user,a\n" + "".join(f"{k},w{k}\n" for k in range(300))
    for content, options, said in (
        (plain, {}, "is the first line a header, with the columns 'ann', 'drink', 'tea'"),
        ("user,item,answer\nann,a,tea\nann,a,tea\nann,a,rum\n", {}, "'ann' answers 'a' with 'tea' and with 'rum'"),
        ("user,a,b\nann,x,y\n,x,y\n", wide, "line 3: user ids must be texts or whole numbers, got ''"),
        (many, wide, "'a' has 300 different answers, and a question may have 256"),
        ("user,age\nann,30\nbob,NA\ncas,40\n", wide, "(?i)question 'age'.*'NA'.*missing='NA'"),
        ("user,a\nann,\n", wide, "Every answer is missing"),
        (plain, {"ignore": "x"}, "ignore goes only with a wide table"),
        (plain, {"scaling": "max"}, "leave out scaling="),
    ):
        with pytest.raises((DataError, ParameterError), match=said):
            km.read_answers(written(tmp_path, content), **options)
    assert km.read_answers(written(tmp_path, plain), header=False).items.ids.tolist() == ["drink = milk", "drink = tea"]
