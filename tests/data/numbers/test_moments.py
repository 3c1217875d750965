"""Moments: numbers as they are, dates of every library as the same seconds."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kolmogorov.data.numbers.moments import moments_of

DATES = st.lists(st.datetimes(datetime.datetime(1800, 1, 1), datetime.datetime(2200, 1, 1)), min_size=1, max_size=9)


@given(DATES)
def test_the_same_dates_are_the_same_seconds(dates):
    expected = [date.replace(tzinfo=datetime.UTC).timestamp() for date in dates]
    berlin = [
        date.replace(tzinfo=datetime.UTC).astimezone(datetime.timezone(datetime.timedelta(hours=2))) for date in dates
    ]
    array = np.array(dates, dtype="datetime64[us]")
    texts = [date.isoformat() for date in dates]
    zoned = pd.Series(array).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    for raw in (dates, berlin, array, texts, tuple(texts), pd.Series(array), zoned, pl.Series(dates), np.array(dates)):
        found = moments_of(raw)
        assert found.dated
        np.testing.assert_allclose(found.seconds, expected, atol=2e-6)


@given(st.lists(st.floats(-1e12, 1e12), min_size=1))
def test_numbers_stay_as_they_are(numbers):
    for raw in (numbers, tuple(map(repr, numbers)), pd.Series(numbers), np.array(numbers, dtype=object)):
        found = moments_of(raw)
        assert not found.dated
        np.testing.assert_array_equal(found.seconds, numbers)


@pytest.mark.parametrize(
    ("raw", "lost", "dated"),
    [
        (("1", "", "3"), [1], False),
        (["2020-01-01", None, "soon"], [1, 2], True),
        ([5, "2020-01-01", 10**400], [1, 2], False),
        ([datetime.date(2020, 1, 1), pd.NaT, 7], [1, 2], True),
        (np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"), [1], True),
        (np.array([1, 2], dtype="timedelta64[s]"), [0, 1], False),
        (["03/04/2020", "10:15"], [0, 1], False),
    ],
)
def test_what_is_no_moment_is_missing(raw, lost, dated):
    found = moments_of(raw)
    assert np.flatnonzero(np.isnan(found.seconds)).tolist() == lost
    assert found.dated == dated


def test_one_alone():
    assert moments_of(np.datetime64("1970-01-02")).seconds == 86_400.0
    assert moments_of("1970-01-02").seconds == moments_of(pd.Timestamp("1970-01-02")).seconds == 86_400.0
    assert moments_of(3).seconds == 3.0
