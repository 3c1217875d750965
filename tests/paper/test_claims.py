"""One claim, one row; and one rule for all verdicts."""

import pytest

from kolmogorov.paper.claims import Claim, Trial, Verdict, same_error, same_share, same_times


def claim(*trials, note=""):
    return Claim(
        "Table I", "it is so", "a is open", [Trial(f"a = {k}", "1", *trial) for k, trial in enumerate(trials)], note
    )


@pytest.mark.parametrize(
    ("trials", "verdict"),
    [
        ([(True,)], Verdict.HOLDS),
        ([(True,), (True,)], Verdict.HOLDS),
        ([(True,), (False,)], Verdict.UNDER_A_READING),
        ([(True,), (False, True)], Verdict.UNDER_A_READING),
        ([(False,), (False,)], Verdict.NOT_FOUND),
        ([(False,), (False, True)], Verdict.CONTRADICTED),
    ],
)
def test_a_verdict_is_what_the_readings_say(trials, verdict):
    assert claim(*trials).verdict is verdict


def test_what_is_found_has_every_reading_and_those_that_agree():
    some = claim((True,), (False,), (True,), note="so far")
    assert some.found == "a = 0: 1; a = 1: 1; a = 2: 1; holds for 2 of 3 readings (a = 0, a = 2); so far"
    assert claim((True,)).found == "a = 0: 1"
    assert list(some.row()) == ["where", "the paper says", "our reading", "what we find", "verdict"]
    assert Claim("x", "y", "z", [Trial("", "found", True)]).found == "found"


def test_the_rule():
    assert same_error(0.102, 0.1)
    assert not same_error(0.103, 0.1)
    assert same_error(0.103, 0.1, sd=0.002)
    assert same_share(42.0, 37.0)
    assert not same_share(42.1, 37.0)
    assert same_times(2.0, 1.0)
    assert same_times(1.0, 2.0)
    assert not same_times(2.1, 1.0)
    assert not same_times(0.0, 1.0)
    assert not same_times(float("nan"), 1.0)
