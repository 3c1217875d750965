"""Options of readers: said once, shown by every function that takes them, and kept as plain values."""

import inspect
import json

import pandas as pd
import pytest

from kolmogorov import Observations, pack, read_ratings
from kolmogorov.data.reading.options import DEFAULTS, ReadingKeywords, ReadingOptions
from kolmogorov.errors import KolmogorovError, ParameterError
from kolmogorov.execution import distributed_table

TAKERS = [read_ratings, pack, distributed_table, Observations.from_arrays, Observations.from_frame]
TAKERS += [Observations.from_dense, Observations.from_scipy]


def test_keywords_and_fields_are_the_same():
    assert set(ReadingKeywords.__annotations__) == set(DEFAULTS)
    assert ReadingKeywords.__required_keys__ == frozenset()
    assert inspect.signature(ReadingOptions).parameters.keys() == DEFAULTS.keys()


@pytest.mark.parametrize("function", TAKERS, ids=lambda function: function.__name__)
def test_signatures_show_each_option_with_its_default(function):
    parameters = inspect.signature(function).parameters
    assert all(p.kind is not inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    # The items of arrays are no option.
    own = inspect.Parameter.KEYWORD_ONLY
    options = {name: p.default for name, p in parameters.items() if name in DEFAULTS and p.kind is own}
    assert {"minimum", "maximum", "scaling", "duplicates"} <= options.keys()
    assert options == {name: DEFAULTS[name] for name in options}


def test_read_ratings_takes_and_documents_all():
    parameters = inspect.signature(read_ratings).parameters
    assert list(parameters) == ["source", *DEFAULTS]
    documented = inspect.getdoc(read_ratings).partition("Returns\n")[0].replace(",", " ").split()
    assert {*DEFAULTS} <= set(documented)


@pytest.mark.parametrize("function", TAKERS, ids=lambda function: function.__name__)
def test_an_unknown_option_is_named_with_the_nearest(function):
    words = rf"{function.__name__}\(\) got an unexpected keyword argument 'maxium'\. Did you mean 'maximum'\?"
    with pytest.raises(TypeError, match=words):
        function(None, None, None, maxium=5)


def test_frames_and_arrays_do_not_take_what_concerns_files():
    with pytest.raises(TypeError, match="unexpected keyword argument 'sep'"):
        Observations.from_frame(pd.DataFrame(), sep=",")
    with pytest.raises(TypeError, match="unexpected keyword argument 'wide'"):
        Observations.from_arrays([1], [1], [1], wide=True)


def test_options_are_kept_as_plain_values(tmp_path):
    told = ReadingOptions(
        user="who", value=2, map={True: 1, "No": 0}, missing=["NA", 9], maximum=1, titles={1: "x"}, header=False
    )
    kept = json.loads(json.dumps(told.to_dict()))
    assert kept == {
        "user": "who",
        "value": 2,
        "header": False,
        "map": {"true": 1.0, "no": 0.0},
        "missing": ["NA", "9"],
        "maximum": 1,
    }
    again = ReadingOptions(**kept)
    assert again.to_dict() == kept
    assert (again.notation, again.scale_request) == (told.notation, told.scale_request)
    assert ReadingOptions().to_dict() == {}


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("sep", "", "a separator, 'whitespace' or 'auto'"),
        ("header", "yes", "True or False or 'auto'"),
        ("wide", 1, "True or False"),
        ("decimal", ";", "one of 'auto', '.', ','"),
        ("scaling", "log", "one of 'auto', 'max', 'minmax'"),
        ("duplicates", "first", "one of 'error', 'mean', 'last'"),
        ("encoding", None, "the name of an encoding"),
    ],
)
def test_what_an_option_must_be(option, value, words):
    with pytest.raises(ParameterError) as caught:
        ReadingOptions(**{option: value})
    assert str(caught.value) == f"Observations: '{option}' must be {words}, got {value!r}."


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"maximum": 10**400}, "'maximum' must be a finite number"),
        ({"minimum": -(10**400)}, "'minimum' must be a finite number"),
        ({"map": {"a": 10**400}}, "'map' must give a finite number"),
        ({"user": 1.5}, "'user' must be the name of a column or its position from 0, got 1.5"),
        ({"item": [1]}, "'item' must be the name of a column or its position"),
        ({"weight": b"x"}, "'weight' must be the name of a column or its position"),
        ({"encoding": "\0"}, "There is no encoding"),
        ({"encoding": "utf-8\0"}, "There is no encoding"),
        ({"user": 10**400}, "has columns 0 to 2"),
    ],
)
@pytest.mark.parametrize("header", [True, False])
def test_odd_options_are_refused_with_a_sentence(tmp_path, options, message, header):
    (tmp_path / "r.csv").write_text("user,item,value\n" * header + "a,x,1\nb,y,2\n")
    with pytest.raises(KolmogorovError, match=message):
        read_ratings(tmp_path / "r.csv", **options)


def test_large_marks_of_what_is_missing_are_texts(tmp_path):
    (tmp_path / "r.csv").write_text(f"user,item,value\na,x,1\nb,y,{10**400}\nb,x,0\n")
    assert len(read_ratings(tmp_path / "r.csv", missing=10**400)) == 2
