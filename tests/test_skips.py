"""The last lines of a test run say what was left out and how to change it."""

import json

import pytest

from helpers import peers, skips


def test_causes_are_counted_and_come_with_a_remedy():
    reasons = [
        *["Skipped: no chromium on this machine"] * 32,
        "Skipped: MovieLens 100K is not in /somewhere; set KOLMOGOROV_DATA to the folder that holds ml-100k",
        "Skipped: Surprise is in the extra 'bench'",
        "Skipped: could not import 'clarabel': No module named 'clarabel'",
        *["Skipped: cornac not installed; make test-peers runs these tests"] * 2,
        "Skipped: only an administrator can give files away",
    ]
    assert skips.summary(reasons, "get one") == [
        "32 browser tests skipped: no chromium; run: get one",
        "1 MovieLens test skipped: no MovieLens 100K; run: KOLMOGOROV_DATA=FOLDER make test, with ml-100k there",
        "1 test skipped: no extra 'bench'; run: .venv/bin/pip install -e '.[bench]'",
        "1 test skipped: no clarabel; run: .venv/bin/pip install -e '.[all]'",
        "2 tests of harnesses and ArviZ skipped: no packages of others; run: make test-peers",
        "1 test skipped: only an administrator can give files away",
    ]
    assert skips.summary([], "get one") == []


def test_what_is_long_is_counted_by_kind():
    assert skips.left_out({"clusters": 30, "chains": 1200}) == [
        "1,230 long tests were left out: chains (1200), clusters (30); run: make test-all"
    ]
    assert skips.left_out({"chains": 1}) == ["1 long test was left out: chains (1); run: make test-all"]
    assert skips.left_out({}) == []


def test_a_missing_package_skips_unless_all_should_be_there(monkeypatch):
    monkeypatch.delenv(peers.ALL_THERE, raising=False)
    assert peers.need("json") is json
    assert peers.need() is None
    with pytest.raises(pytest.skip.Exception, match="no_such_package not installed; make test-peers"):
        peers.need("json", "no_such_package")
    monkeypatch.setenv(peers.ALL_THERE, "1")
    with pytest.raises(pytest.fail.Exception, match="no_such_package not installed.* should be there"):
        peers.need("no_such_package")
