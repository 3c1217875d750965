"""Tables of words: lists and wide tables, files and frames, and what is wrong with them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kolmogorov as km
from kolmogorov.data.answers import AnswerTable
from kolmogorov.errors import DataError, ParameterError

WIDE = "name;drink;travel\nbob;coffee; car \nann;;train\ncas;NA;train\n"


def written(folder, text):
    path = folder / "answers.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_wide_table_keeps_its_order(tmp_path):
    table = km.read_answers(written(tmp_path, WIDE), wide=True, missing="NA")
    assert table.users == ["bob", "ann", "cas"]
    assert table.items == ["drink", "travel"]
    assert table.answers == [["coffee", None, None], ["car", "train", "train"]]
    assert repr(table) == "AnswerTable: 4 answers of 3 users to 2 items"
    assert table.to_frame().columns.tolist() == ["user", "drink", "travel"]
    assert km.read_answers(written(tmp_path, WIDE), wide=True).answers[0] == ["coffee", None, "NA"]
    assert km.read_answers(written(tmp_path, WIDE), wide=True, ignore="travel").items == ["drink"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames(make):
    columns = {"user": [3, 1, 3], "item": ["a", "a", "b"], "answer": ["x", None, "y"]}
    table = km.read_answers(make(columns))
    assert table.users == [3, 1]
    assert table.answers == [["x", None], ["y", None]]


def test_arrays():
    table = AnswerTable.from_arrays([3, 1, 3], np.array(["b", "a", "a"]), ["x", 2, np.nan])
    assert (table.users, table.items) == ([3, 1], ["b", "a"])
    assert table.answers == [["x", None], [None, 2]]
    for wrong in (([1], [1, 2], ["x"]), ([1], [1], ["x", "y"]), ([], [], [])):
        with pytest.raises(DataError, match="one entry per answer, and at least one"):
            AnswerTable.from_arrays(*wrong)
    with pytest.raises(DataError, match="entry 1: user ids must all be integers or all be strings"):
        AnswerTable.from_arrays([1, "a"], [1, 2], ["x", "y"])


@settings(max_examples=30)
@given(
    st.dictionaries(
        st.tuples(st.integers(0, 5), st.sampled_from("abc")), st.sampled_from(["yes", "no", "1", "ä b"]), min_size=1
    )
)
def test_a_list_and_what_becomes_of_it(tmp_path_factory, answers):
    lines = "".join(f"u{user},{item},{label}\n" for (user, item), label in answers.items())
    table = km.read_answers(written(tmp_path_factory.mktemp("list"), "user,item,answer\n" + lines))
    cells = {
        (int(user[1:]), item): label
        for item, column in zip(table.items, table.answers, strict=True)
        for user, label in zip(table.users, column, strict=True)
        if label is not None
    }
    assert cells == answers


def test_what_is_unclear_or_wrong_is_said(tmp_path):
    plain = written(tmp_path, "ann,drink,tea\nbob,drink,milk\n")
    with pytest.raises(DataError, match="is the first line a header, with the columns 'ann', 'drink', 'tea'"):
        km.read_answers(plain)
    assert km.read_answers(plain, header=False).answers == [["tea", "milk"]]
    twice = written(tmp_path, "user,item,answer\nann,drink,tea\nann,drink,tea\nann,drink,milk\n")
    with pytest.raises(DataError, match="User 'ann' answers 'drink' with 'tea' and with 'milk'"):
        km.read_answers(twice)
    with pytest.raises(DataError, match="line 3: the user must be an id, got nothing"):
        km.read_answers(written(tmp_path, "user,a,b\nann,x,y\n,x,y\n"), wide=True)
    with pytest.raises(DataError, match="There is no file"):
        km.read_answers(tmp_path / "absent.csv")
    with pytest.raises(ParameterError, match="goes only with a wide table"):
        km.read_answers(plain, ignore="x")
    with pytest.raises(TypeError, match="unexpected keyword argument 'maximum'"):
        km.read_answers(plain, maximum=5)
