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
    assert some.found == "a = 0: 1; a = 1: 1; a = 2: 1; holds for 2 of 3 readings: a = 0, 2; so far"
    assert claim((True,)).found == "a = 0: 1"
    assert list(some.row()) == ["where", "the paper says", "our reading", "what we find", "verdict"]
    assert Claim("x", "y", "z", [Trial("", "found", True)]).found == "found"


def square(agreeing):
    trials = [
        Trial(f"D = {n}, a = {a}", f"{n}{a}", (n, a) in agreeing, not agreeing) for n in (4, 8) for a in (1, 10, 30)
    ]
    return Claim("Fig. 7", "they are close", "a is open", trials, brief="from 1% to 2%")


@pytest.mark.parametrize(
    ("agreeing", "words"),
    [
        ((), "for none of 6 readings"),
        ([(n, a) for n in (4, 8) for a in (1, 10, 30)], "for all 6 readings"),
        ([(4, 1), (4, 10), (4, 30), (8, 30)], "holds for 4 of 6 readings: D = 4, every a; D = 8, a = 30"),
        ([(8, 1), (8, 30)], "holds for 2 of 6 readings: D = 8, a = 1, 30"),
    ],
)
def test_many_readings_are_told_together(agreeing, words):
    assert square(agreeing).found == f"from 1% to 2%; {words}"


def test_readings_make_a_table():
    assert square([(4, 1)]).rows() == [
        {"reading": "D = 4", "a = 1": "**41**", "a = 10": "410", "a = 30": "430"},
        {"reading": "D = 8", "a = 1": "81", "a = 10": "810", "a = 30": "830"},
    ]
    assert claim((True,), (False,)).rows() == [{"a = 0": "**1**", "a = 1": "1"}]
    named = Claim("x", "y", "z", [Trial("u1", "0.2", True), Trial("mean of u1 to u5", "0.1", False)])
    assert named.rows() == [
        {"reading": "u1", "found": "**0.2**"},
        {"reading": "mean of u1 to u5", "found": "0.1"},
    ]


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
