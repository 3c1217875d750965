"""Times of ratings: given beside them, or read from another column of the same source."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from kolmogorov import Observations, pack, read_ratings
from kolmogorov.data.ratings import read_as_told
from kolmogorov.data.reading.options import ReadingOptions
from kolmogorov.errors import DataError, ParameterError

LINES = [("ann", "tea", 5, 900.5), ("bob", "tea", 4, 100.0), ("ann", "rum", 1, 300.0), ("cid", "rum", 2, -7.0)]
FRAME = pd.DataFrame(LINES, columns=["user", "item", "rating", "timestamp"])


def by_pair(table):
    pairs = zip(table.users.ids[table.user_rows()], table.items.ids[table.item_rows()], strict=True)
    return dict(zip(pairs, table.times, strict=True))


WANTED = {(user, item): when for user, item, _, when in LINES}


def test_times_are_read_with_the_ratings(tmp_path):
    path = tmp_path / "ratings.csv"
    FRAME.to_csv(path, index=False)
    for source in (path, FRAME, [path]):
        found = read_ratings(source, maximum=5, time="timestamp")
        assert found.rows.values.tolist() == read_ratings(path, maximum=5).rows.values.tolist()
        assert by_pair(found) == pytest.approx(WANTED)
    train, test = found.split(test_size=0.25, by="time")
    assert by_pair(test) == pytest.approx({("ann", "tea"): 900.5})
    assert len(train.times) == 3


def test_what_has_no_rating_needs_no_time_and_the_other_way_round(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("user,item,rating,when\nann,tea,,3\nbob,tea,4,5\nbob,rum,1,9\n")
    found = read_ratings(path, maximum=5, missing="", time="when")
    assert by_pair(found) == pytest.approx({("bob", "tea"): 5.0, ("bob", "rum"): 9.0})
    path.write_text("user,item,rating,when\nann,tea,2,\nbob,tea,4,5\nbob,rum,1,9\n")
    with pytest.raises(DataError, match="line 2: column 'when' must hold a time for each rating.*got ''"):
        read_ratings(path, maximum=5, time="when")
    # Nobody asked.
    found = read_ratings(path, maximum=5)
    assert found.times is None
    assert "Not used: when (time)" in repr(found)


def test_clicks_were_last_made_then(tmp_path):
    path = tmp_path / "clicks.csv"
    path.write_text("user,item,when\nann,tea,3\nann,tea,8\nbob,tea,5\n")
    found = read_ratings(path, only_yes=True, time="when")
    assert by_pair(found) == pytest.approx({("ann", "tea"): 8.0, ("bob", "tea"): 5.0})


def test_what_holds_no_times_is_refused(tmp_path):
    path = tmp_path / "ratings.csv"
    FRAME.assign(timestamp="yesterday").to_csv(path, index=False)
    with pytest.raises(DataError, match="'timestamp' must hold a time for each rating, as a number"):
        read_ratings(path, maximum=5, time="timestamp")
    with pytest.raises(DataError, match="no column 'moment'"):
        read_ratings(path, maximum=5, time="moment")
    with pytest.raises(
        ParameterError, match="In a wide table every column but the user's is an item. Leave out 'time'"
    ):
        read_ratings(pd.DataFrame({"user": ["a", "b"], "x": [1, 2]}), wide=True, time="x")
    stream = pa.RecordBatchReader.from_batches(pa.Table.from_pandas(FRAME).schema, [])
    with pytest.raises(DataError):
        read_ratings(stream, maximum=5, time="timestamp")


DAYS = ["2024-05-31", "2024-05-30T12:00:00", "2024-06-01 01:30", "2023-01-01T00:00:00Z"]
NAMED = ["timestamp", "date", "Datetime", "created_at", "ratedAt"]


@pytest.mark.parametrize("name", NAMED)
def test_a_column_of_a_usual_name_is_read_by_itself(tmp_path, name):
    frame = FRAME.rename(columns={"timestamp": name})
    frame.to_csv(tmp_path / "r.csv", index=False)
    frame.to_parquet(tmp_path / "r.parquet")
    streams = [pa.Table.from_pandas(frame), pa.Table.from_pandas(frame).to_reader()]
    for source in (tmp_path / "r.csv", tmp_path / "r.parquet", frame, pl.from_pandas(frame).lazy(), *streams):
        found = read_ratings(source, maximum=5)
        assert by_pair(found) == pytest.approx(WANTED)
        assert not found.dated
        assert f"time = {name}." in repr(found)
        assert by_pair(found.split(test_size=0.25, by="time")[1]) == pytest.approx({("ann", "tea"): 900.5})
    assert read_ratings(frame, maximum=5, time=False).times is None
    assert by_pair(Observations.from_frame(frame, maximum=5)) == pytest.approx(WANTED)


def test_dates_are_read_from_everything(tmp_path):
    seconds = pd.to_datetime(pd.Series(DAYS), format="ISO8601", utc=True)
    wanted = dict(zip(WANTED, (seconds - pd.Timestamp(0, tz="UTC")).dt.total_seconds(), strict=True))
    texts = FRAME.assign(timestamp=DAYS)
    texts.to_csv(tmp_path / "r.csv", index=False)
    naive, zoned = FRAME.assign(timestamp=seconds.dt.tz_localize(None)), FRAME.assign(timestamp=seconds)
    zoned.assign(timestamp=zoned["timestamp"].dt.tz_convert("Asia/Tokyo")).to_parquet(tmp_path / "r.parquet")
    frames = (texts, naive, zoned, pl.from_pandas(naive), pl.from_pandas(zoned), pa.Table.from_pandas(naive))
    for source in (tmp_path / "r.csv", tmp_path / "r.parquet", *frames):
        found = read_ratings(source, maximum=5)
        assert found.dated
        assert by_pair(found) == pytest.approx(wanted)
    for part in found.split(0.5, by="time"):
        assert part.dated
    assert by_pair(Observations.from_frame(naive, maximum=5, time="timestamp")) == pytest.approx(wanted)


def test_columns_without_a_name_are_asked_for_by_their_place(tmp_path):
    (tmp_path / "u.data").write_text("\n".join("\t".join(map(str, line)) for line in LINES))
    assert read_ratings(tmp_path / "u.data", maximum=5).times is None
    found = read_ratings(tmp_path / "u.data", maximum=5, time=3)
    assert by_pair(found) == pytest.approx(WANTED)
    assert "time = column 3" in repr(found)


def test_several_files_are_one_table(tmp_path):
    for part in range(2):
        FRAME.iloc[2 * part : 2 * part + 2].to_csv(tmp_path / f"{part}.csv", index=False)
    both = [tmp_path / "0.csv", tmp_path / "1.csv"]
    assert by_pair(read_ratings(both, maximum=5)) == pytest.approx(WANTED)
    # Numbers here and dates there, or none at all, are of no use.
    FRAME.iloc[2:].assign(timestamp=DAYS[2:]).to_csv(both[1], index=False)
    assert read_ratings(both, maximum=5).times is None
    FRAME.iloc[2:, :3].to_csv(both[1], index=False)
    assert read_ratings(both, maximum=5).times is None


def test_repeated_pairs_keep_their_latest_time(tmp_path):
    (tmp_path / "r.csv").write_text("user,item,rating,time\nann,tea,1,9\nann,tea,5,4\nbob,tea,5,5\n")
    times = {how: by_pair(read_ratings(tmp_path / "r.csv", duplicates=how)) for how in ("mean", "last")}
    assert times["mean"] == {("ann", "tea"): 9.0, ("bob", "tea"): 5.0}
    assert times["last"] == {("ann", "tea"): 4.0, ("bob", "tea"): 5.0}


def test_a_model_reads_the_next_file_with_its_times(tmp_path):
    (tmp_path / "r.csv").write_text("user,item,rating,moment\nann,tea,1,9\nbob,tea,5,5\n")
    found = read_ratings(tmp_path / "r.csv", time="moment")
    assert found.source.recipe["time"] == "moment"
    told = ReadingOptions.of_recipe(found.source.recipe, {})
    assert by_pair(read_as_told(tmp_path / "r.csv", told)) == by_pair(found)
    # One without times can be read as well.
    (tmp_path / "s.csv").write_text("user,item,rating\nann,tea,1\nbob,tea,5\n")
    assert read_as_told(tmp_path / "s.csv", told).times is None


def test_times_that_were_not_asked_for_change_nothing(tmp_path):
    with_times, bare = read_ratings(FRAME, maximum=5), read_ratings(FRAME, maximum=5, time=False)
    assert with_times.fingerprint() == bare.fingerprint()
    for by in ("entry", "user"):
        one, other = (table.split(0.5, random_state=1, by=by)[0] for table in (with_times, bare))
        assert one.fingerprint() == other.fingerprint()


def test_times_stay_with_their_entries(tmp_path):
    table = read_ratings(FRAME, maximum=5, time="timestamp")
    chosen = np.array([True, False, True, True])
    np.testing.assert_array_equal(table.subset(chosen).times, table.times[chosen])
    called = table.with_titles(items={"tea": "Tea"}).rescaled(Observations.from_arrays([1], [1], [10]).scale)
    np.testing.assert_array_equal(called.times, table.times)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(table)).times, table.times)
    packed = pack(table, tmp_path / "t.kmt").with_times(table.times)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(packed)).times, table.times)
    np.testing.assert_array_equal(packed.subset(chosen).times, table.times[chosen])
    with pytest.raises(DataError, match="Give seconds, days or years"):
        table.with_times([1.7e18, 1.0, 2.0, 3.0])
    for wrong in ([1.0, 2.0], [1.0, 2.0, np.nan, 3.0], "noon", None):
        with pytest.raises(DataError, match="'times' must hold"):
            table.with_times(wrong)
