"""Options of readers: said once, shown by every function that takes them, and kept as plain values."""

import inspect
import json

import pandas as pd
import pytest

from kolmogorov import Observations, pack, read_ratings
from kolmogorov.data.reading.options import DEFAULTS, ReadingOptions
from kolmogorov.execution import distributed_table

TAKERS = [read_ratings, pack, distributed_table, Observations.from_arrays, Observations.from_frame]
TAKERS += [Observations.from_dense, Observations.from_scipy]


@pytest.mark.parametrize("function", TAKERS, ids=lambda function: function.__name__)
def test_signatures_show_each_option_with_its_default(function):
    parameters = inspect.signature(function).parameters
    assert all(p.kind is not inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    # The items of arrays are no option.
    own = inspect.Parameter.KEYWORD_ONLY
    options = {name: p.default for name, p in parameters.items() if name in DEFAULTS and p.kind is own}
    assert {"minimum", "maximum", "scaling", "duplicates"} <= options.keys()
    assert options == {name: DEFAULTS[name] for name in options}


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
    assert (kept["map"], kept["missing"]) == ({"true": 1.0, "no": 0.0}, ["NA", "9"])
    again = ReadingOptions(**kept)
    assert again.to_dict() == kept
    assert (again.notation, again.scale_request) == (told.notation, told.scale_request)
    assert ReadingOptions().to_dict() == {}
