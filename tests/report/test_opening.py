"""What the page begins with, and what it says where little is to be said, in a real browser."""

import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.browser import go
from kolmogorov import KolmogorovModel, Observations, datasets

pytest.importorskip("playwright.sync_api", reason="browser tests need playwright")
pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture
def stars(rng):
    return Observations.from_dense(rng.integers(1, 6, (40, 12)).astype(float), minimum=1, maximum=5)


@pytest.fixture
def page_of(visit, tmp_path):
    """Open the page of a model of ratings whose items are put somewhere."""

    def opened(table, psi, **options):
        model = KolmogorovModel(psi.shape[1], psi="soft", learn_from="ratings", random_state=0).fit(table)
        model.fitted_ = replace(model.fitted_, psi=psi)
        model.report(tmp_path / "page.html", table, **options)
        return visit((tmp_path / "page.html").as_uri())

    return opened


def test_the_example_of_an_event_has_something_in_it_and_something_not(page_of, stars, rng):
    """Whoever the example is about: events of everything and of nothing say nothing."""
    psi = np.where(rng.random((12, 4)) < 0.5, 0.9, 0.1)
    psi[:, 0], psi[:, 1] = 0.95, 0.05
    page = page_of(stars, psi)
    event = page.evaluate("exampleEvent()")
    assert event in (2, 3)
    told = page.evaluate(f"toldBy({event})")
    assert told["found"]
    assert all(psi[row, event] == 0.9 for row in told["found"])
    assert psi[told["outside"], event] == 0.1
    named = [row for row in page.evaluate(f"EVENTS[{event}].told") if psi[row, event] == 0.9]
    assert told["found"][: len(named)] == named[:2]


def test_recommendations_below_a_yes_are_shown_and_marked(page_of, stars, rng):
    train = stars.subset(rng.random(len(stars)) < 0.6)
    page = page_of(train, rng.uniform(0.3, 0.5, (12, 3)))
    go(page, "users/~0")
    part = page.locator("section", has_text="Recommended")
    table = part.locator("table")
    counts = train.rows.counts[0]
    assert table.locator("tbody tr").count() == min(10, 12 - counts) > 0
    assert table.locator("tbody tr.dim").count() == table.locator("tbody tr").count()
    assert "below a yes" in table.locator("tbody").inner_text()
    assert "Grey: the nearest answer is below a yes, which is at least" in part.inner_text()


def test_answers_are_words_where_they_were_read_as_words(visit, tmp_path):
    votes = datasets.load("un-votes", since=2019)
    train, _ = votes.split(test_size=0.2, random_state=0)
    KolmogorovModel(3, learn_from="ratings", random_state=0).fit(train).report(tmp_path / "votes.html", votes)
    page = visit((tmp_path / "votes.html").as_uri())
    assert page.locator("figure").first.locator("text:not(.small)").all_text_contents() == ["no", "abstain", "yes"]
    text = page.locator("main").inner_text()
    assert "no is 0, abstain is 0.5, yes is 1" in text
    assert "get “yes” in it" in text
    assert "A prediction is a hit if no other answer is nearer." in text
    go(page, "what-if")
    assert page.locator(".choice").first.locator("button").all_inner_texts() == ["yes", "abstain", "no"]
    assert "Harvard Dataverse" in page.locator("footer").inner_text()


def saved(page, name):
    with page.expect_download() as waiting:
        page.get_by_role("button", name=name).first.click()
    return Path(waiting.value.path()).read_bytes(), waiting.value.suggested_filename


def test_events_and_the_matrix_are_saved(visit, zoo_model, zoo_page):
    page = visit(f"{zoo_page}#events")
    data, name = saved(page, "Save this table as CSV: events")
    head, *rows = csv.reader(io.StringIO(data.decode()))
    assert name == "events.csv"
    assert head == ["event", "name", "share", "traits in it", "largest animals", "telling traits"]
    told = {event.number: event for event in zoo_model.events(5)}
    assert [int(row[0]) for row in rows] == sorted(told, key=lambda number: -told[number].share)
    for number, called, share, count, people, items in rows:
        event = told[int(number)]
        assert (called, int(count)) == (event.name, event.n_items)
        assert float(share) == pytest.approx(event.share, abs=1e-4)
        assert people.split("; ")[0] == event.users[0]
        assert items == "; ".join(event.items)
    go(page, "matrix")
    data, name = saved(page, "Save this table as CSV: matrix")
    head, *rows = csv.reader(io.StringIO(data.decode()))
    assert head[:3] == ["traits", "number", "answers"]
    bits = {tuple(row[3:]): row for row in rows}
    psi = zoo_model.psi_.astype(int).astype(str)
    assert {tuple(row) for row in psi.tolist()} == set(bits)
    assert sum(int(row[1]) for row in rows) == len(psi)
    picture, name = saved(page, "Save as SVG")
    assert name == "matrix.svg"
    assert picture.count(b"<circle") == len(bits) * psi.shape[1] + psi.shape[1]
    assert saved(page, "Save as PNG: Matrix")[0].startswith(b"\x89PNG")


def test_an_item_without_rules_leads_to_what_the_model_implies(visit, zoo_page):
    page = visit(zoo_page)
    bare = page.evaluate("SEEN.find((row) => !ALL_RULES.some((r) => supported(r) && (RULES.from[r] === row || RULES.to[r] === row)) && alwaysOrNever(row, eventsOf(DATA.psi[row])) === null) ?? null")  # fmt: skip # noqa: E501
    if bare is None:
        page.evaluate("RULES.supported.fill(0)")
        bare = page.evaluate("SEEN.find((row) => alwaysOrNever(row, eventsOf(DATA.psi[row])) === null)")
    page.evaluate(f"location.hash = itemPlace({bare})")
    page.get_by_role("link", name="What the model implies").click()
    assert not page.get_by_label("only rules that the data support").is_checked()
