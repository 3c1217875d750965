"""Times in the shell: read with ratings, and used for moods."""

import numpy as np
import pandas as pd
import pytest

import kolmogorov as km

SHORT = ("--chains", 1, "--burn-in", 10, "--samples", 5, "--events", 2)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Write ratings in sittings, with a column that has a usual name, with dates, and without a header."""
    folder, rng = tmp_path_factory.mktemp("times"), np.random.default_rng(0)
    users, items = np.nonzero(rng.random((25, 20)) < 0.7)
    sitting = rng.integers(0, 3, users.size)
    mood = rng.normal(0, 1.0, (25, 3))[users, sitting]
    frame = pd.DataFrame({"user": users, "item": items, "rating": np.clip(np.rint(3 + mood), 1, 5).astype(int)})
    seconds = 1_700_000_000 + 1_000_000 * sitting + rng.integers(0, 600, users.size)
    frame.assign(timestamp=seconds).to_csv(folder / "usual.csv", index=False)
    frame.assign(moment=pd.to_datetime(seconds, unit="s")).to_csv(folder / "dates.csv", index=False)
    frame.assign(timestamp=seconds).to_csv(folder / "bare.tsv", index=False, header=False, sep="\t")
    return folder


@pytest.mark.parametrize(
    ("name", "options", "dated"),
    [
        ("usual.csv", (), False),
        ("dates.csv", ("--time-column", "moment"), True),
        ("bare.tsv", ("--time-column", 3), False),
    ],
)
@pytest.mark.long("chains")
def test_moods_are_fitted_to_a_column_of_times(shell, files, tmp_path, name, options, dated):
    out = tmp_path / "m.km"
    found = shell("fit", files / name, "--time", "mood", *options, *SHORT, "--test-size", 0.2, "-o", out)
    assert found.exit_code == 0, found.output
    assert "time = " in found.stderr
    model = km.load(out)
    assert model.time == "mood"
    assert model.fitted_.training.dated == dated
    assert model.mood_half_life_ > 0
    # The next file is read the same way, with its times.
    judged = shell("evaluate", out, files / name)
    assert judged.exit_code == 0, judged.output
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("user,item\n1,2\n3,4\n")
    asked = shell("predict", out, pairs)
    assert asked.exit_code == 0, asked.output


def test_what_has_no_times_has_no_moods(shell, files, tmp_path):
    out = ("-o", tmp_path / "m.km")
    found = shell("fit", files / "dates.csv", "--time", "mood", *SHORT, *out)
    assert found.exit_code != 0
    assert "needs to know when ratings were made" in found.output
    assert "Name the column with --time-column." in found.output
    pointless = shell("fit", files / "usual.csv", "--time", "mood", "--point", *out)
    assert "--time: goes only with --bayes" in pointless.output
    packed = shell("data", "pack", files / "usual.csv", "-o", tmp_path / "t.kmt")
    assert packed.exit_code == 0, packed.output
    refused = shell("data", "pack", files / "usual.csv", "-o", tmp_path / "u.kmt", "--time-column", "timestamp")
    assert "A packed table holds no times. Leave out --time-column" in refused.output
