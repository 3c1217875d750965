"""What a model answers to requests is what its methods say; without any server."""

import numpy as np
import pytest

import kolmogorov as km
from kolmogorov.errors import UnknownIdError
from kolmogorov.serve import answers
from kolmogorov.serve.answers import WANTED, UnwantedError, Wanted


@pytest.fixture(scope="module")
def films():
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((40, 15)) < 0.5)
    values = rng.integers(1, 6, users.size)
    names = {item: f"Film {item}" for item in range(15)}
    table = km.Observations.from_arrays(users, items, values, maximum=5).with_titles(items=names)
    return {
        "one": km.KolmogorovModel(3, random_state=0).fit(table),
        "draws": km.BayesianKolmogorovModel(3, n_chains=2, burn_in=10, n_samples=3, random_state=0).fit(table),
        "lists": km.ListModel(3, ridge=5.0, growth=0.0, balance=0.5, unobserved=0.1, random_state=0).fit(table),
    }


@pytest.mark.parametrize("kind", ["one", "draws", "lists"])
def test_answers_are_what_the_model_says(films, kind):
    model = films[kind]
    found = answers.predicted(model, [("3", "4"), ("3", "Film 4"), ("999", "4"), ("nobody", "nothing")], strict=False)
    number = "score" if kind == "lists" else "probability"
    assert found[0][number] == found[1][number] == model.predict(3, 4)
    assert [one["known"] for one in found] == [True, True, False, False]
    assert found[2][number] == pytest.approx(model.predict([999], [4], unknown="ignore")[0])
    if kind == "lists":
        assert found[0].keys() == {"user", "item", "score", "known"}
    else:
        assert found[0]["rating"] == model.predict(3, 4, output="rating")
    with pytest.raises(UnknownIdError, match="The model has no data on user '999'"):
        answers.predicted(model, [("999", "4")], strict=True)
    lists = answers.recommended(model, ["3", "5"], 4)
    assert [one["user"] for one in lists] == ["3", "5"]
    for user, one in zip(["3", "5"], lists, strict=True):
        frame = model.recommend(user, n=4)
        assert [row["item"] for row in one["items"]] == frame["item"].tolist()
        assert [row["title"] for row in one["items"]] == frame["title"].tolist()
    like = answers.similar(model, "Film 2", 3)
    assert [row["item"] for row in like] == model.similar_items(2, n=3)["item"].tolist()
    assert answers.found_items(model, "film 1", 3)[0]["title"].startswith("Film 1")
    assert answers.warmed(model) is model


@pytest.mark.parametrize("kind", ["one", "draws", "lists"])
def test_guests_and_explanations(films, kind):
    model = films[kind]
    guest = answers.recommended_to_guests(model, [{"Film 1": 5, "2": 1, "unheard": 3}], 4)[0]
    wanted = model.recommend(guest={"Film 1": 5, 2: 1}, n=4)
    assert [row["item"] for row in guest["items"]] == wanted["item"].tolist()
    assert guest["left_out"] == ["unheard"]
    why = answers.explained(model, "3", "Film 4")
    assert why["score" if kind == "lists" else "probability"] == pytest.approx(model.predict(3, 4))
    # Scores of lists are no ratings.
    whole = why["score" if kind == "lists" else "rating"]
    assert sum(step["amount"] for step in why["steps"]) == pytest.approx(whole, abs=0.01)
    assert sum(event["share"] for event in answers.events(model)) == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ["one", "draws", "lists"])
def test_a_user_who_is_named_several_times_has_one_list(films, kind):
    once = answers.recommended(films[kind], ["1"], 2)[0]["items"]
    several = answers.recommended(films[kind], ["1", "1", "3", "1"], 2)
    assert [one["user"] for one in several] == ["1", "1", "3", "1"]
    assert len(several[2]["items"]) == 2
    for one in several:
        if one["user"] != "3":
            assert [row["item"] for row in one["items"]] == [row["item"] for row in once]


@pytest.mark.parametrize("kind", ["one", "draws", "lists"])
def test_guests_together_get_what_each_gets_alone(films, kind):
    rng = np.random.default_rng(1)
    guests = [{str(item): int(rng.integers(1, 6)) for item in rng.permutation(15)[:4]} for _ in range(40)]
    together = answers.recommended_to_guests(films[kind], guests, 3)
    number = "score" if kind == "lists" else "probability"
    for guest, found in zip(guests, together, strict=True):
        alone = answers.recommended_to_guests(films[kind], [guest], 3)[0]
        assert [row["item"] for row in found["items"]] == [row["item"] for row in alone["items"]]
        assert [row[number] for row in found["items"]] == pytest.approx([row[number] for row in alone["items"]])


def test_errors_name_no_user_but_the_one_asked_for():
    people, films = ["ann@x.org", "bo@x.org", "cy@x.org"] * 2, ["Alien"] * 3 + ["Brazil"] * 3
    table = km.Observations.from_arrays(people, films, [1, 5, 4, 2, 3, 5], maximum=5)
    model = km.KolmogorovModel(2, learn_from="ratings", random_state=0).fit(table)
    numbers = km.Observations.from_arrays([100, 200, 300] * 2, films, [1, 5, 4, 2, 3, 5], maximum=5)
    other = km.KolmogorovModel(2, learn_from="ratings", random_state=0).fit(numbers)
    for asked, wrong in ((model, "ann@x.or"), (other, "299"), (other, "ann")):
        for ask in (
            lambda asked, wrong: answers.recommended(asked, [wrong], 1),
            lambda asked, wrong: answers.explained(asked, wrong, "Alien"),
            lambda asked, wrong: answers.predicted(asked, [(wrong, "Alien")], strict=True),
        ):
            with pytest.raises(UnknownIdError) as error:
                ask(asked, wrong)
            assert str(error.value) == f"The model has no data on user {wrong!r}."
    with pytest.raises(UnknownIdError, match="Did you mean 'Alien'"):
        answers.explained(model, "ann@x.org", "Alie")


def test_an_answer_that_nobody_waits_for_ends_between_two_parts(films):
    wanted = Wanted()
    before = WANTED.set(wanted)
    try:
        assert answers.recommended(films["one"], ["1"], 1)
        wanted.end()
        with pytest.raises(UnwantedError):
            answers.recommended(films["one"], ["1"], 1)
        with pytest.raises(UnwantedError):
            answers.recommended_to_guests(films["one"], [{"Film 1": 5}], 1)
    finally:
        WANTED.reset(before)


def test_what_a_model_does_not_have_is_said(films):
    with pytest.raises(UnknownIdError, match="The model knows no item that was rated here"):
        answers.recommended_to_guests(films["one"], [{"unheard": 3}], 4)
