"""`kolmogorov update`: a model file is replaced whole, or stays as it was."""

import numpy as np
import pytest

import kolmogorov as km


def test_update_takes_ratings_in_and_replaces_the_model(shell, copies, tmp_path):
    _, model = copies
    new = tmp_path / "new.csv"
    new.write_text("user,item,rating\nunicorn,hair,1\nunicorn,milk,1\nunicorn,feathers,0\nbear,feathers,1\n")
    before = km.load(model)
    done = shell("update", model, new, "-o", model)
    assert done.exit_code == 0, done.output
    after = km.load(model)
    assert len(after.users_) == len(before.users_) + 1
    had = len(before.fitted_.training)
    assert f"{had:,} ratings of 101 users × 15 items before" in done.stderr
    assert "of 102 × 15 now" in done.stderr
    again = shell("update", model, new, "-o", tmp_path / "same.km")
    assert again.exit_code == 0
    assert np.array_equal(km.load(tmp_path / "same.km").theta_, after.theta_)


def test_update_forgets_users_and_removes_pairs(shell, copies, tmp_path):
    ratings, model = copies
    known = km.load(model)
    training = known.fitted_.training
    user, item = training.users.ids[training.user_rows()[0]], training.items.ids[training.item_rows()[0]]
    pairs = tmp_path / "pairs.csv"
    pairs.write_text(f"user,item\n{user},{item}\nnobody,{item}\n")
    done = shell("update", model, "--remove", pairs, "--forget", "wolf", "-o", tmp_path / "left.km")
    assert done.exit_code == 0, done.output
    assert f"1 of 2 pairs in {pairs}: the model does not know the user or the item." in done.stderr
    left = km.load(tmp_path / "left.km")
    gone = 1 + int((training.users.ids[training.user_rows()] == "wolf").sum())
    assert len(left.fitted_.training) == len(training) - gone
    assert "wolf" not in left.users_.ids
    assert model.read_bytes()
    assert len(km.load(model).fitted_.training) == len(training)
    assert ratings.exists()


@pytest.mark.parametrize("text", ["", "\n", "user,item,rating\n"])
def test_a_file_without_ratings_changes_nothing(shell, copies, tmp_path, text):
    _, model = copies
    none, same = tmp_path / "none.csv", tmp_path / "same.km"
    none.write_text(text)
    for options in ((none,), ("--remove", none)):
        done = shell("update", model, *options, "-o", same, "--force")
        assert done.exit_code == 0, done.output
        assert "none.csv" in done.stderr
        assert km.load(same).theta_.tobytes() == km.load(model).theta_.tobytes()
    none.write_text("user,item,rating\nbear,milk,many\n")
    assert shell("update", model, none, "-o", same, "--force").exit_code == 1


def test_update_says_what_is_wrong_and_leaves_the_model(shell, copies, tmp_path):
    _, model = copies
    before = model.read_bytes()
    nothing = shell("update", model, "-o", model)
    assert nothing.exit_code == 2
    assert "--remove" in nothing.output
    bad = tmp_path / "bad.csv"
    bad.write_text("user,item,rating\nbear,milk,7\n")
    refused = shell("update", model, bad, "-o", model)
    assert refused.exit_code == 1
    assert "Error" in refused.output
    assert model.read_bytes() == before
