"""Scales and weights have bounds, whichever way the data come in."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from kolmogorov import Observations, pack, read_ratings
from kolmogorov.data import Scale
from kolmogorov.data.vocabulary import Vocabulary
from kolmogorov.data.scale import FURTHEST_END, LARGEST_WEIGHT, LEAST_WEIGHT, SHORTEST_SPAN
from kolmogorov.data.reading.columns import TableForm
from kolmogorov.data.reading.frames.native import frame_of
from kolmogorov.data.reading.frames.sources import FrameSource
from kolmogorov.data.read import Reading
from kolmogorov.errors import DataError, ParameterError
from kolmogorov.execution.shards import dealt_part, part_summary

COLUMNS = {"user": "user", "item": "item", "value": "rating", "weight": "n"}


def frame(values, weights):
    return pd.DataFrame({"user": [1, 2, 3], "item": [1, 2, 3], "rating": values, "n": weights})


def written(path, values, weights):
    frame(values, weights).to_csv(path, index=False)
    return path


def part_of(pandas):
    return FrameSource(frame_of(pandas), TableForm(Reading(**COLUMNS), exact=True))


def dealt_out(values, weights):
    part = part_of(frame(values, weights))
    found = part_summary(part, Reading())
    return dealt_part(part, (found.users, found.items), np.array([0]), Scale(0.0, 5.0))


WAYS = {
    "arrays": lambda folder, v, w: Observations.from_arrays([1, 2, 3], [1, 2, 3], v, weights=w),
    "frame": lambda folder, v, w: Observations.from_frame(frame(v, w), value="rating", weight="n"),
    "file": lambda folder, v, w: read_ratings(written(folder / "r.csv", v, w), weight="n"),
    "parquet": lambda folder, v, w: (
        frame(v, w).to_parquet(folder / "r.parquet"),
        read_ratings(folder / "r.parquet", weight="n"),
    ),
    "pack": lambda folder, v, w: pack(written(folder / "r.csv", v, w), folder / "t.kmt", weight="n"),
    "parts": lambda folder, v, w: dealt_out(v, w),
    "dense": lambda folder, v, w: Observations.from_dense(np.array([v]), weights=w),
    "sparse": lambda folder, v, w: Observations.from_scipy(sp.csr_array(np.array([v])), weights=w),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("weight", [LEAST_WEIGHT, 1.0, LARGEST_WEIGHT])
def test_weights_inside_the_bounds_are_accepted(tmp_path, way, weight):
    WAYS[way](tmp_path, [5.0, 3.0, 1.0], [1.0, weight, 1.0])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("weight", [LEAST_WEIGHT / 2, LARGEST_WEIGHT * 2, 1e308, 5e-324, 0.0, -1.0, np.inf])
def test_weights_outside_the_bounds_are_named(tmp_path, way, weight):
    with pytest.raises(DataError, match=r"(entry|row|line|cell) .*weight .*1e-09 to 1e\+09"):
        WAYS[way](tmp_path, [5.0, 3.0, 1.0], [1.0, weight, 1.0])


def test_weights_of_repeated_pairs_stay_inside_the_bounds():
    with pytest.raises(DataError, match=r"one repeated pair add up to 2e\+09; weights from"):
        Observations.from_arrays([1, 1], [1, 1], [1, 0], weights=[1e9, 1e9], duplicates="mean")
    assert Observations.from_arrays([1, 1], [1, 1], [1, 0], weights=[1e8, 1e8], duplicates="mean").weights == [2e8]


@pytest.mark.parametrize(
    ("low", "high"),
    [(-1.7e308, 1.7e308), (0.0, 1.7e308), (-1.7e308, 0.0), (0.0, 5e-324), (0.0, 1e-200), (0.0, 10 * FURTHEST_END)],
)
def test_scales_that_overflow_or_vanish_are_refused(tmp_path, low, high):
    with pytest.raises(ParameterError, match="do not make a scale: its ends must"):
        Scale(low, high)
    values = [low, high, low]
    with pytest.raises(DataError, match=r"ratings, which reach from .* do not make a scale"):
        Observations.from_arrays([1, 2, 3], [1, 2, 3], values, scaling="minmax")
    path = written(tmp_path / "r.csv", values, [1, 1, 1])
    for read in (lambda: read_ratings(path, scaling="minmax"), lambda: pack(path, tmp_path / "t", scaling="minmax")):
        with pytest.raises(DataError, match="do not make a scale"):
            read()


def test_the_ends_of_scales():
    widest = Scale(-FURTHEST_END, FURTHEST_END)
    assert widest.probability(np.array([-FURTHEST_END, 0.0, FURTHEST_END])).tolist() == [0.0, 0.5, 1.0]
    shortest = Scale(0.0, SHORTEST_SPAN)
    assert shortest.rating(shortest.probability(SHORTEST_SPAN)) == SHORTEST_SPAN
    with pytest.raises(DataError, match="do not make a scale"):
        Observations.from_arrays([1], [1], [1e200])
    with pytest.raises(ParameterError, match="'minimum' 0 and 'maximum' 1e-200 do not make a scale"):
        Observations.from_arrays([1], [1], [0], maximum=1e-200)


@pytest.mark.parametrize("value", [1e17, -1e17, 1e90, 2.0])
def test_equal_ratings_far_from_zero_make_a_scale(value):
    table = Observations.from_arrays([1, 2], [1, 2], [value, value], scaling="minmax")
    assert table.values.tolist() == [0.0, 0.0]
    assert table.scale.rating(table.values).tolist() == [value, value]


def test_neighbouring_numbers_make_a_scale():
    near = np.nextafter(3.0, 4.0)
    table = Observations.from_arrays([1, 2], [1, 2], [3.0, near], scaling="minmax")
    assert table.values.tolist() == [0.0, 1.0]


def test_parts_of_frames_name_their_rows():
    part = frame([5.0, np.inf, 1.0], [1.0, 1.0, 1.0])
    with pytest.raises(DataError, match="^row 1: value must be finite, got inf"):
        part_summary(part_of(part), Reading())
    assert isinstance(part_summary(part_of(part[:1]), Reading()).users, Vocabulary)


def test_an_id_may_end_in_a_character_that_numpy_cuts_off():
    table = Observations.from_arrays(["an\0", "an", "b"], ["x", "x", "y"], [1, 0, 1])
    assert table.users.ids.tolist() == ["an", "an\0", "b"]
    assert table.users.encode(["an\0"]).tolist() == [1]
