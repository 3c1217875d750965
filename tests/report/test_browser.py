"""The report in a real browser: every view and everything that can be done in it."""

import csv
import io
import json
import re
from itertools import chain, pairwise
from pathlib import Path
from urllib.parse import parse_qs

import numpy as np
import pytest

from helpers.browser import address, eventually, go
from kolmogorov import KolmogorovModel, Observations, datasets
from kolmogorov.interpret.events import EventItems
from kolmogorov.solvers import bqp
from kolmogorov.solvers.problems import SimplexQP

# Scripts and tables of names stand on one line.
# ruff: noqa: E501
expect = pytest.importorskip("playwright.sync_api", reason="browser tests need playwright").expect
pytestmark = pytest.mark.xdist_group("browser")
VIEWS = (
    "overview", "what-if", "events", "events/2", "matrix", "rules", "order", "order/eggs", "items", "items/eggs",
    "users", "users/dolphin", "wrong",
)  # fmt: skip
DESK, PHONE = {"width": 1200, "height": 800}, {"width": 360, "height": 740}
MODES = [
    pytest.param({"viewport": DESK, "color_scheme": "light"}, id="desk"),
    pytest.param({"viewport": PHONE, "color_scheme": "dark"}, id="phone"),
]


def cells(page, column, table=0):
    return page.locator("table").nth(table).locator(f"tbody tr td:nth-child({column})").all_inner_texts()


def text_of(download):
    with open(download.value.path(), encoding="utf-8") as file:
        return file.read()


# --- every view --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", MODES)
@pytest.mark.parametrize("kind", ["zoo_page", "drawn_page"])
def test_every_view_draws_and_fits(visit, request, kind, options):
    page = visit(request.getfixturevalue(kind), **options)
    for view in VIEWS:
        go(page, view)
        assert page.locator("h2").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), view
        assert page.locator("main").inner_text().count("undefined") == 0
        assert page.locator("main").inner_text().count("NaN") == 0


@pytest.mark.parametrize(
    "address",
    ["#constructor", "#__proto__", "#hasOwnProperty/3", "#items/99999", "#order/abc", "#", "#items/%E0%A4%A", "#events/77",
     "#matrix?in=99", "#order?open=9999.x", "#what-if?a=eggs:7,:1,nothing:1,%ZZ:0", "#rules?cases=abc&without=x"],
)  # fmt: skip
def test_strange_addresses_show_something(visit, zoo_page, address):
    assert visit(zoo_page + address).locator("h2").count() >= 1


def test_the_skip_link_keeps_the_view(visit, zoo_page):
    page = visit(f"{zoo_page}#items/eggs")
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    assert address(page).endswith("#items/eggs")


# --- overview ----------------------------------------------------------------------------------------------------


def test_the_overview_begins_with_a_verdict_and_an_example(visit, zoo_page):
    page = visit(zoo_page)
    assert "Beats the best simple guess by" in page.locator(".verdict.good").inner_text()
    errors = [float(text) for text in cells(page, 2)]
    assert page.locator("table").first.locator("td:nth-child(2) strong").inner_text() == f"{min(errors):.3f}"


def test_the_overview_says_what_the_table_is_and_what_an_event_is(visit, zoo, zoo_model, zoo_page):
    """Table, event, quality, one prediction: in this order, with the numbers of the table."""
    page = visit(zoo_page)
    parts = page.locator("main > :not(.row), main > .row > *")
    heads = ["The table", "What an event is", "Beats the best simple guess", "One prediction"]
    texts = [text for text in parts.all_inner_texts() if text.startswith(tuple(heads))]
    assert [next(head for head in heads if text.startswith(head)) for text in texts] == heads
    assert "zoo: 101 animals × 15 traits, 1,515 answers: 100% of all cells. 303 of them were held out" in texts[0]
    assert page.locator("main figure").first.locator("text.small").all_text_contents() == [f"{100 * (zoo.values == value).mean():.0f}%" for value in (0, 1)]  # fmt: skip
    event = page.evaluate("exampleEvent()")
    who = [zoo_model.users_.name(int(row)) for row in np.argsort(-zoo_model.theta_[:, event], kind="stable")[:2]]
    for name in who:
        share = zoo_model.theta_[zoo_model.users_.encode([name])[0], event]
        assert f"{name} is {100 * share:.0f}% this event" in texts[1]


@pytest.mark.parametrize("kind", ["zoo_page", "drawn_page"])
def test_the_worked_prediction_adds_up_and_is_a_hit_or_a_miss(visit, request, zoo, kind):
    page = visit(request.getfixturevalue(kind))
    base, *steps, end = steps_of(page)
    assert base + sum(steps) == pytest.approx(end, abs=1e-9)
    user, item = (page.locator(".example a").nth(k).inner_text() for k in (0, 1))
    said = zoo.values[(zoo.user_rows() == zoo.users.encode([user])[0]) & (zoo.item_rows() == zoo.items.encode([item])[0])]  # fmt: skip
    assert page.locator(".badge").inner_text() == ("Hit" if (end >= 50) == bool(said[0]) else "Miss")


def test_a_model_that_is_no_better_is_told_so(visit, tmp_path):
    table = Observations.from_dense(np.random.default_rng(0).integers(0, 2, (30, 20)).astype(float))
    train, _ = table.split(test_size=0.3, random_state=0)
    KolmogorovModel(6, learn_from="ratings", user_reg=1.0, random_state=0).fit(train).report(
        tmp_path / "noise.html", table
    )
    page = visit((tmp_path / "noise.html").as_uri())
    assert "Does not beat a simple guess" in page.locator(".verdict.bad").inner_text()


def test_plots_are_saved(visit, zoo_page):
    page = visit(zoo_page)
    chart = page.locator("figure").filter(has_text="Calibration")
    with page.expect_download() as waiting:
        chart.get_by_role("button", name="Save as SVG").click()
    text = text_of(waiting)
    assert waiting.value.suggested_filename == "calibration.svg"
    assert text.startswith("<svg")
    assert "stroke: rgb" in text
    with page.expect_download() as waiting:
        chart.get_by_role("button", name="Save as PNG").click()
    with open(waiting.value.path(), "rb") as file:
        data = file.read()
    assert data.startswith(b"\x89PNG")
    # Twice the size of the chart.
    assert [int.from_bytes(data[k : k + 4], "big") for k in (16, 20)] == [960, 520]


def test_every_table_is_saved_as_it_is_shown(visit, zoo_page):
    for view in VIEWS:
        # A new page for each: chromium drops, without a word, the eleventh download of a page within a second.
        page = visit(f"{zoo_page}#{view}")
        for table in page.locator(".table").all():
            with page.expect_download() as waiting:
                table.get_by_role("button", name="Save this table as CSV").click()
            names, *rows = list(csv.reader(io.StringIO(text_of(waiting))))
            assert waiting.value.suggested_filename.endswith(".csv")
            assert len(rows) >= table.locator("tbody tr").count()
            assert all(len(row) == len(names) for row in rows), view
            if names[0] != "kind":  # rules have more in a file than on the page
                assert rows[0][0] == table.locator("tbody tr").first.locator("td").first.inner_text()


# --- what if -----------------------------------------------------------------------------------------------------

FOLD = "(answers) => { const t = foldIn(new Map(answers)); return [[...t], [...predictAll(t)]]; }"


def folded_in(model, rows, values):
    new = Observations.from_arrays(
        ["new"] * len(rows), model.items_.ids[rows].tolist(), model.scale_.rating(values), minimum=model.scale_.minimum, maximum=model.scale_.maximum
    )  # fmt: skip
    return model.fold_in(new, side="users")


def random_answers(rng, model, values):
    rows = rng.choice(np.flatnonzero(model.fitted_.item_seen), rng.integers(1, 8), replace=False)
    return rows, rng.choice(values, rows.size)


def placed_alike(page, model, rng, values):
    """Compare what the page makes of some answers with fold-in, and with what a row of a table is predicted."""
    seen = model.fitted_.item_seen
    within = 1e-9
    for _ in range(12):
        rows, said = random_answers(rng, model, values)
        theta, predicted = page.evaluate(FOLD, [[int(k), float(value)] for k, value in zip(rows, said, strict=True)])
        assert np.abs(np.array(theta) - folded_in(model, rows, said)[0]).max() < within
        table = np.full((1, len(model.items_)), np.nan)
        table[0, rows] = model.scale_.rating(said)
        expected = model.predict(table)[0]
        assert np.abs(np.array(predicted) - expected)[seen].max() < within
        guest = dict(zip(model.items_.ids[rows].tolist(), model.scale_.rating(said).tolist(), strict=True))
        found = model.recommend(guest=guest, n=len(seen), min_count=1)
        listed = dict(zip(model.items_.encode(found["item"]).tolist(), found["probability"], strict=True))
        assert listed == pytest.approx({k: predicted[k] for k in listed}, abs=within)


@pytest.mark.parametrize("psi", ["binary", "soft"])
@pytest.mark.parametrize("learn_from", ["draws", "ratings"])
def test_what_if_is_fold_in(visit, zoo, tmp_path, rng, psi, learn_from):
    model = KolmogorovModel(5, psi=psi, learn_from=learn_from, random_state=0).fit(zoo)
    model.report(tmp_path / "zoo.html", zoo)
    page = visit((tmp_path / "zoo.html").as_uri())
    placed_alike(page, model, rng, [0.0, 1.0])
    for user in (0, 50):
        shown = page.evaluate("(user) => [...predictAll(thetaOf(user))]", user)
        assert shown == pytest.approx(model.predict(model.users_.ids[user], model.items_.ids), abs=1e-4)


@pytest.mark.parametrize("psi", ["binary", "soft"])
def test_what_if_counts_what_was_not_observed(visit, zoo, tmp_path, rng, psi):
    yes = zoo.values == 1
    table = Observations.from_arrays(zoo.user_rows()[yes], zoo.item_rows()[yes], np.ones(int(yes.sum())))
    model = KolmogorovModel(4, psi=psi, unobserved=0.3, random_state=0).fit(table)
    model.report(tmp_path / "yes.html")
    page = visit((tmp_path / "yes.html").as_uri())
    for _ in range(12):
        rows, said = random_answers(rng, model, [1.0])
        theta, _ = page.evaluate(FOLD, [[int(k), 1.0] for k in rows])
        assert np.abs(np.array(theta) - folded_in(model, rows, said)[0]).max() < 1e-9


def test_what_if_of_draws_is_that_of_the_one_model_that_stands_for_them(visit, drawn_model, drawn_page, rng):
    """`as_model` with chances is that model."""
    page = visit(drawn_page)
    placed_alike(page, drawn_model.as_model(psi="soft"), rng, [0.0, 1.0])


def test_the_page_solves_any_problem_on_the_simplex(visit, zoo_page, rng):
    """Objectives beside those of the library's solver, singular matrices among them."""
    page = visit(zoo_page)
    for size in (1, 2, 5, 12, 40):
        for rank in (1, size // 2 + 1, size + 3):
            factor = rng.normal(size=(rank, size))
            gram, moment = factor.T @ factor + 1e-6 * np.eye(size), rng.normal(size=size)
            found = np.array(page.evaluate("([Q, w, x]) => [...solveSimplex(Q, w, x)]", [gram.tolist(), moment.tolist(), [1 / size] * size]))  # fmt: skip
            best = bqp.solve(SimplexQP(gram, moment), solver="active_set").x
            assert found.min() >= 0
            assert found.sum() == pytest.approx(1.0)
            value, expected = (x @ gram @ x - 2 * x @ moment for x in (found, best))
            assert value <= expected + 1e-8 * max(1.0, abs(expected))


def test_what_if_is_ticked_kept_and_reset(visit, zoo_model, zoo_page):
    page = visit(f"{zoo_page}#what-if?a=none")
    assert "average animal" in page.locator(".result").inner_text()
    page.get_by_role("button", name="yes to feathers").click()
    page.get_by_role("button", name="no to predator").click()
    for name in ("yes to feathers", "no to predator"):
        expect(page.get_by_role("button", name=name)).to_have_attribute("aria-pressed", "true")
    rows = zoo_model.items_.encode(["feathers", "predator"])
    expected = zoo_model.inverse_transform(folded_in(zoo_model, rows, np.array([1.0, 0.0])))[0]
    lines = page.locator("table").first.locator("tbody tr")
    few = lines.count()
    page.get_by_role("button", name="Show all").first.click()
    eventually(page, lines.count, lambda count: count > few)
    shown = dict(zip(cells(page, 1), cells(page, 3), strict=True))
    assert "feathers" not in shown
    for name, text in shown.items():
        assert float(text.rstrip("%")) == pytest.approx(100 * expected[zoo_model.items_.encode([name])[0]], abs=0.51)
    assert "⇒" in page.locator(".fired").inner_text()
    again = visit(page.get_by_role("link", name="Link to these answers").evaluate("(link) => link.href"))
    assert dict(zip(cells(again, 1), cells(again, 3), strict=True)).items() <= shown.items()
    page.get_by_role("button", name="yes to feathers").click()
    expect(page.get_by_role("button", name="yes to feathers")).to_have_attribute("aria-pressed", "false")
    page.get_by_role("button", name="Reset").click()
    expect(page.locator("[aria-pressed=true]")).to_have_count(0)


def test_what_if_takes_levels_where_answers_have_them(visit, tmp_path, rng):
    stars = rng.integers(1, 6, (30, 12)).astype(float)
    table = Observations.from_dense(stars, maximum=5)
    KolmogorovModel(3, learn_from="ratings", user_reg=1.0, random_state=0).fit(table).report(tmp_path / "stars.html")
    page = visit((tmp_path / "stars.html").as_uri() + "#what-if")
    assert page.locator(".choice").first.get_by_role("button").all_inner_texts() == ["5", "4", "3", "2", "1"]
    # A prediction is a hit where no other answer is nearer.
    for chance, said, hit in ((0.75, 0.8, True), (0.71, 0.8, True), (0.69, 0.8, False), (0.05, 0.2, True)):
        found = page.evaluate("([chance, said]) => outcome({ user: 0, item: 0, said }, chance)", [chance, said])
        assert found[0] == hit


# --- events ------------------------------------------------------------------------------------------------------


def test_events_list_what_sets_them_apart(visit, zoo_model, zoo_page):
    page = visit(f"{zoo_page}#events")
    found = EventItems(zoo_model.fitted_)
    names = found.names()
    for card in page.locator(".card").all():
        event = names.index(card.locator("h3").inner_text())
        expected = [zoo_model.items_.name(row) for row in found.best(event, 5)]
        assert card.locator("ul:not(.plain) li").all_inner_texts() == expected
    go(page, "events/2")
    best = found.best(2, 40)
    assert cells(page, 1) == [zoo_model.items_.name(row) for row in best]
    assert [float(text) for text in cells(page, 2)] == pytest.approx(found.likes[best, 2], abs=0.056)
    assert [float(text) for text in cells(page, 3)] == pytest.approx(found.expected[best, 2], abs=0.056)


def test_events_are_renamed_everywhere(visit, zoo_page):
    page = visit(f"{zoo_page}#events/2")
    field = page.get_by_role("textbox", name="Name of this event")
    field.fill("The <b>third</b> & last")
    field.press("Enter")
    expect(page.locator("h2")).to_have_text("The <b>third</b> & last")
    page.get_by_role("link", name="Overview").click()
    expect(page.locator(".verdict")).to_have_count(1)
    expect(page.locator("main")).to_contain_text("The <b>third</b> & last")
    again = visit(address(page))
    expect(again.locator("main")).to_contain_text("The <b>third</b> & last")
    again.get_by_role("link", name="Events", exact=True).click()
    with again.expect_download() as waiting:
        again.get_by_role("button", name="Save names").click()
    assert json.loads(text_of(waiting))["2"] == "The <b>third</b> & last"


# --- matrix ------------------------------------------------------------------------------------------------------


def test_the_matrix_has_a_line_for_each_support(visit, zoo_model, zoo_page):
    page = visit(f"{zoo_page}#matrix")
    supports = {tuple(row) for row in zoo_model.psi_.tolist()}
    assert page.locator(".classes details").count() == len(supports)
    sizes = [int(text.split()[0]) for text in page.locator(".classes .size:nth-child(3)").all_inner_texts()]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) == 15
    page.get_by_label("Only those that happen in").select_option("2")
    expect(page.locator(".classes details")).to_have_count(len({row for row in supports if row[2]}))
    expect(page).to_have_url(re.compile("in=2"))


# --- rules -------------------------------------------------------------------------------------------------------


def test_rules_are_filtered_marked_and_saved(visit, zoo_page):
    page = visit(f"{zoo_page}#rules")
    shown = page.evaluate("LISTED.filter((rule) => supported(rule) && !unseen(rule)).length")
    assert page.locator(".mark").count() - 4 == shown
    assert set(cells(page, 1)) <= {"implication", "equivalence"}
    for kind in ("exclusion", "coverage"):
        page.get_by_label(kind).check()
    assert page.locator(".mark").count() - 4 == page.evaluate("LISTED.filter((rule) => tested(rule) && !unseen(rule)).length")  # fmt: skip
    page.get_by_label("only rules that the data support").uncheck()
    total = page.evaluate("LISTED.length")
    assert page.locator(".mark").count() - 4 == page.evaluate("LISTED.filter((rule) => !unseen(rule)).length")
    page.get_by_role("button", name="Show all").click()
    expect(page.locator("tbody tr")).to_have_count(total)
    page.get_by_label("at least … cases").fill("3")
    page.get_by_label("coverage").uncheck()
    eventually(page, lambda: cells(page, 4), lambda texts: min(int(text) for text in texts) >= 3)
    eventually(page, lambda: cells(page, 1), lambda kinds: "coverage" not in kinds)
    page.get_by_label("Only rules about").fill("eggs")
    both = page.locator("tbody tr").filter(has_text="eggs")
    eventually(page, lambda: (both.count(), page.locator("tbody tr").count()), lambda found: found[0] == found[1] > 0)
    pairs = list(zip(cells(page, 2), cells(page, 3), strict=True))
    assert all("eggs" in " ".join(pair) for pair in pairs)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save this table as CSV: rules").click()
    rows = list(csv.DictReader(io.StringIO(text_of(waiting))))
    assert len(rows) == len(pairs)
    assert float(rows[0]["low"]) <= float(rows[0]["confidence"]) <= float(rows[0]["high"])
    again = visit(address(page))
    assert list(zip(cells(again, 2), cells(again, 3), strict=True)) == pairs


def test_cells_cannot_run_in_a_spreadsheet(visit, zoo_page):
    page = visit(zoo_page)
    found = page.evaluate("['=1+1', '-cmd', 'a,\"b', -3.5, null, '＝x'].map(safeCell)")
    assert found == ["'=1+1", "'-cmd", '"a,""b"', "-3.5", "", "'＝x"]


def test_posterior_probabilities_filter_rules(visit, drawn_page):
    page = visit(f"{drawn_page}#rules")
    page.get_by_label("posterior probability").fill("0.9")
    column = page.locator("th").all_inner_texts().index("probability") + 1
    eventually(page, lambda: cells(page, column), lambda texts: min(float(text) for text in texts) >= 0.9)


# --- order -------------------------------------------------------------------------------------------------------


def view_box(page):
    return [float(x) for x in page.locator("svg.diagram").get_attribute("viewBox").split()]


def test_the_order_is_walked(visit, zoo_page):
    page = visit(f"{zoo_page}#order")
    assert page.locator(".node").count() >= 8
    before = view_box(page)
    page.get_by_role("button", name="Zoom in").click()
    zoomed = eventually(page, lambda: view_box(page), lambda box: box[2] < before[2])
    page.locator("svg.diagram").focus()
    page.keyboard.press("ArrowRight")
    eventually(page, lambda: view_box(page), lambda box: box != zoomed)
    page.locator(".node").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.startsWith('#items/')")
    page.get_by_role("link", name="Show its place in the order").click()
    expect(page.locator(".node.chosen")).to_have_count(1)


def test_boxes_light_what_they_imply(visit, zoo_model, zoo_page):
    page = visit(f"{zoo_page}#order")
    page.locator(".node").filter(has_text="feathers").first.focus()
    expect(page.locator(".node.up")).not_to_have_count(0)
    up = page.locator(".node.up").evaluate_all("(nodes) => nodes.map((n) => Number(n.dataset.number))")
    psi, members = zoo_model.psi_, page.evaluate("ORDER.members")
    feathers = psi[zoo_model.items_.encode(["feathers"])[0]]
    assert set(up) == {k for k, rows in enumerate(members) if not (feathers & ~psi[rows[0]]).any()}


@pytest.fixture(scope="module")
def large_page(tmp_path_factory):
    """Four thousand items with long titles, and many supports."""
    rng = np.random.default_rng(0)
    psi = rng.random((4000, 12)) < rng.random((4000, 1))
    theta = rng.dirichlet(np.full(12, 0.2), 500)
    users = np.repeat(np.arange(500), 240)
    items = np.concatenate([rng.choice(4000, 240, replace=False) for _ in range(500)])
    values = (rng.random(len(users)) < np.einsum("nd,nd->n", theta[users], psi[items])).astype(float)
    titles = np.array([f"{'=' if k % 7 == 0 else ''}A title of item {k:04d} " + "that goes on and on " * 15 for k in range(4000)], dtype=object)  # fmt: skip
    model = KolmogorovModel(12, learn_from="ratings", user_reg=1.0, max_iter=2, random_state=0)
    model.fit(Observations.from_arrays(users, titles[items], values))
    path = tmp_path_factory.mktemp("report") / "large.html"
    model.report(path)
    return path.as_uri()


def test_a_large_page_opens_and_answers(visit, large_page):
    page = visit(large_page)
    for view in ("overview", "what-if", "events", "matrix", "rules", "order", "items", "users", "wrong"):
        go(page, view)
    go(page, "order")
    before = page.locator(".node").count()
    assert 0 < before <= 20
    page.locator(".more").first.focus()
    page.keyboard.press("Enter")
    opened = eventually(page, page.locator(".node").count, lambda count: count > before)
    expect(page).to_have_url(re.compile("open="))
    expect(visit(address(page)).locator(".node")).to_have_count(opened)


# --- users -------------------------------------------------------------------------------------------------------


def test_a_user_is_shown_with_answers_and_explanations(visit, zoo, zoo_model, zoo_page):
    page = visit(f"{zoo_page}#users/dolphin")
    row = int(zoo.users.encode(["dolphin"])[0])
    mine = zoo.user_rows() == row
    truth = {zoo.items.name(item): "yes" if value else "no" for item, value in zip(zoo.item_rows()[mine], zoo.values[mine], strict=True)}  # fmt: skip
    last = page.locator("table").count() - 1
    assert dict(zip(cells(page, 1, last), cells(page, 2, last), strict=True)) == truth
    expected = {name: zoo_model.predict("dolphin", name) for name in truth}
    for name, text in zip(cells(page, 1, last), cells(page, 3, last), strict=True):
        assert float(text.rstrip("%")) == pytest.approx(100 * expected[name], abs=0.6)
    misses = [float(text.rstrip("%")) for text in cells(page, 5, last - 1)]
    assert misses == sorted(misses, reverse=True)
    page.get_by_role("searchbox", name="Explain another trait").fill("tail")
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.includes('i=tail')")
    found = page.evaluate(EXPLAINED, ["dolphin", "tail"])
    why = zoo_model.explain("dolphin", "tail")
    assert found["chance"] == pytest.approx(why.probability, abs=1e-4)
    assert found["base"] == pytest.approx(why.base, abs=1e-4)
    assert np.allclose(found["parts"], why.contributions, atol=1e-4)
    expect(page.locator(".example")).to_contain_text(f"{100 * found['chance']:.0f}%")


EXPLAINED = "([user, item]) => { const found = explained(thetaOf(KEYS.user.find(user)), KEYS.item.find(item)); return { ...found, parts: [...found.parts] }; }"


def steps_of(page):
    """The numbers of a waterfall, from what everybody would get to what is expected."""
    texts = page.locator(".waterfall .number").all_inner_texts()
    return [float(text.rstrip("%").replace("−", "-")) for text in texts]


def test_a_waterfall_ends_in_the_prediction(visit, zoo_model, zoo_page):
    page = visit(zoo_page)
    for user in ("dolphin", "gnat", "vampire"):
        for item in ("tail", "milk", "eggs"):
            go(page, f"users/{user}?i={item}")
            base, *steps, end = steps_of(page)
            why = zoo_model.explain(user, item)
            assert base == pytest.approx(100 * why.base, abs=0.06)
            assert end == pytest.approx(100 * why.probability, abs=0.06)
            assert base + sum(steps) == pytest.approx(end, abs=1e-9)
            assert all(abs(step) >= abs(after) - 0.11 for step, after in pairwise(steps))


def test_draws_explain_the_model_that_stands_for_them(visit, drawn_model, drawn_page):
    page = visit(f"{drawn_page}#users/dolphin?i=tail")
    found, why = page.evaluate(EXPLAINED, ["dolphin", "tail"]), drawn_model.explain("dolphin", "tail")
    assert np.allclose(found["parts"], why.contributions, atol=1e-4)
    assert found["base"] == pytest.approx(why.base, abs=1e-4)
    assert found["chance"] == pytest.approx(why.probability - why.rest, abs=1e-4)


def test_recommendations_have_counts_and_a_lower_bound(visit, zoo_model, zoo_page):
    page = visit(f"{zoo_page}#users/goat")
    rows = zoo_model.fitted_.training.rows
    goat = int(zoo_model.users_.encode(["goat"])[0])
    told = {zoo_model.items_.name(row) for row in rows.indices[rows.indptr[goat] : rows.indptr[goat + 1]]}
    names = cells(page, 1)
    assert page.locator("th").nth(2).inner_text() == "at least"
    assert not told & set(names)
    for expected, least in zip(cells(page, 2), cells(page, 3), strict=True):
        assert float(least.rstrip("%")) <= float(expected.rstrip("%"))
    counts = dict(zip((zoo_model.items_.name(k) for k in range(15)), zoo_model.fitted_.item_counts.tolist(), strict=True))  # fmt: skip
    assert [int(text) for text in cells(page, 4)] == [counts[name] for name in names]


# --- where it is wrong -------------------------------------------------------------------------------------------


# --- state -------------------------------------------------------------------------------------------------------


def test_back_restores_scroll_sort_and_query(visit, large_page):
    page = visit(f"{large_page}#items", viewport=DESK)
    fitting = sum("1" in f"{k:04d}" for k in range(4000))
    page.get_by_label("Filter items by name").fill("item 1")
    page.get_by_role("button", name="trained on").click()
    page.get_by_role("button", name="trained on").click()
    expect(page.locator("th[aria-sort=ascending]")).to_contain_text("trained on")
    page.get_by_role("button", name="Show all").click()
    expect(page.locator("tbody tr")).to_have_count(fitting)
    order = cells(page, 1)
    page.mouse.wheel(0, 3000)
    page.wait_for_function("() => window.scrollY >= 2900")
    where = page.evaluate("window.scrollY")
    page.locator("tbody tr").nth(60).locator("a").evaluate("(link) => link.click()")
    page.wait_for_function("() => location.hash.startsWith('#items/')")
    page.wait_for_function("() => window.scrollY === 0")
    page.go_back()
    expect(page.locator("tbody tr")).to_have_count(fitting)
    expect(page.get_by_label("Filter items by name")).to_have_value("item 1")
    assert cells(page, 1) == order
    expect(page.locator("th[aria-sort=ascending]")).to_contain_text("trained on")
    page.wait_for_function("(y) => Math.abs(window.scrollY - y) < 5", arg=where)


def test_slash_searches_from_anywhere(visit, zoo_page):
    page = visit(f"{zoo_page}#wrong")
    page.keyboard.press("/")
    page.keyboard.type("feath")
    eventually(page, page.locator(".found a").all_inner_texts, lambda found: "feathers trait" in found)
    page.keyboard.press("Escape")
    expect(page.locator(".found a")).to_have_count(0)
    expect(page.locator("#search input")).not_to_be_focused()
    page.keyboard.press("/")
    page.keyboard.type("dolph")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('nav a[aria-current]').hash === '#users'")
    assert address(page).endswith("#users/dolphin")
    expect(page.locator("#search input")).to_have_value("")


def test_everything_by_keyboard_alone(visit, zoo_page):
    page = visit(zoo_page)

    def reach(what, most=80):
        for _ in range(most):
            page.keyboard.press("Tab")
            if page.evaluate("(what) => document.activeElement.matches(what)", what):
                return
        raise AssertionError(f"{what} was not reached")

    reach("nav a[href='#what-if']")
    page.keyboard.press("Enter")
    page.wait_for_selector(".asked")
    reach(".choice button[aria-pressed=false]")
    page.keyboard.press("Space")
    page.wait_for_function("() => document.activeElement.getAttribute('aria-pressed') === 'true'")
    go(page, "rules")
    reach("main input[type=range]")
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("cases="))
    go(page, "order")
    reach(".node")
    expect(page.locator(".node.up")).not_to_have_count(0)
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('nav a[aria-current]').hash === '#items'")
    reach("th button")
    page.keyboard.press("Enter")
    expect(page.locator("th[aria-sort]")).to_have_count(1)
    go(page, "matrix")
    reach("summary")
    page.keyboard.press("Enter")
    expect(page.locator("details[open]")).to_have_count(1)


def test_tables_sort_both_ways(visit, zoo_page):
    page = visit(f"{zoo_page}#items")
    heading = page.get_by_role("button", name="trained on")
    column = page.locator("th").filter(has=heading)
    heading.click()
    expect(column).to_have_attribute("aria-sort", "descending")
    found = list(map(int, cells(page, 3)))
    assert found == sorted(found, reverse=True)
    heading.click()
    expect(column).to_have_attribute("aria-sort", "ascending")
    assert list(map(int, cells(page, 3))) == sorted(found)


# --- hostile names -----------------------------------------------------------------------------------------------

EVIL = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


def test_hostile_titles_are_shown_and_not_run(visit, tmp_path):
    names = [EVIL, "x", "__proto__", "", "a/b?c=d#e&f", "100%", "~1", "=HYPERLINK(1)", "ünï\u202ecode\u0007"]
    users = [u for u in (EVIL, "b", "c", "constructor") for _ in names]
    values = np.random.default_rng(1).integers(0, 2, len(users)).astype(float)
    table = Observations.from_arrays(users, names * 4, values)
    path = tmp_path / "evil.html"
    KolmogorovModel(2, learn_from="ratings", random_state=0, user_reg=0.01).fit(table).report(
        path, title=EVIL, nouns=(EVIL, "x/y")
    )
    page = visit(path.as_uri())
    keys = page.evaluate("ITEMS.names.map((_, row) => [itemPlace(row), itemPlace(row, 'order'), linkTo('what-if', null, { a: `${KEYS.item.key(row)}:1` })])")  # fmt: skip
    for view in ("#overview", "#what-if", "#events", "#events/0", "#matrix", "#rules", "#order", "#items", "#users", "#users/~0", "#wrong", *chain(*keys)):  # fmt: skip
        go(page, view)
        assert "owned" not in page.title().replace(EVIL[:30], "").replace("document.title='owned'", "")
        assert page.locator("img").count() == 0
        assert page.locator("script").count() == 2
    for row, (place, *_) in enumerate(keys):
        go(page, place)
        assert page.locator("h2").text_content() == page.evaluate("(row) => ITEMS.names[row]", row)


def test_titles_of_100_000_letters_do_not_freeze_it(visit, tmp_path):
    titles = [f"{k}{'long' * 25_000}" for k in range(6)]
    users = [u for u in ("a" * 100_000, "b", "c") for _ in titles]
    values = np.random.default_rng(0).integers(0, 2, 18).astype(float)
    table = Observations.from_arrays(users, titles * 3, values)
    KolmogorovModel(2, learn_from="ratings", user_reg=0.1, random_state=0).fit(table).report(
        tmp_path / "long.html", title="t" * 100_000
    )
    page = visit((tmp_path / "long.html").as_uri(), viewport=PHONE)
    for view in ("overview", "what-if", "events", "matrix", "rules", "order", "items", "items/~2", "users", "users/~0", "wrong"):  # fmt: skip
        go(page, view)
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), view


# --- pictures, frames --------------------------------------------------------------------------------------------


def test_digits_are_drawn(visit, tmp_path):
    digits = datasets.load("digits")
    path = tmp_path / "digits.html"
    KolmogorovModel(4, learn_from="ratings", user_reg=0.3, max_iter=3, random_state=0).fit(digits).report(
        path, image=(8, 8), max_users=20
    )
    page = visit(f"{path.as_uri()}#events")
    assert page.locator("svg.picture").count() == 4
    assert page.locator("svg.picture").first.locator("rect").count() == 64
    go(page, "users/~3")
    assert page.locator("svg.picture").count() == 2
    go(page, "what-if?a=none")
    pixel = page.locator(".pad button:enabled").nth(5)
    for said in ("yes", "no", ""):
        pixel.click()
        expect(pixel).to_have_attribute("data-said", said)


def test_a_notebook_shows_it_in_a_frame(visit, zoo, zoo_model, tmp_path):
    path = tmp_path / "notebook.html"
    path.write_text(
        f"<!doctype html><title>n</title>{zoo_model.report(observations=zoo)._repr_html_()}", encoding="utf-8"
    )
    page = visit(path.as_uri())
    frame = page.frame_locator("iframe")
    expect(frame.locator(".verdict")).to_contain_text("Beats")
    frame.locator("nav a", has_text="Events").click()
    frame.locator(".card a").first.click()
    field = frame.locator("input[type=text]")
    field.fill("Renamed")
    field.press("Enter")
    frame.locator("nav a", has_text="Overview").click()
    frame.get_by_role("link", name="Renamed").first.wait_for()


# --- numbers that must agree, addresses --------------------------------------------------------------------------


def test_counts_agree_between_views(visit, tmp_path, rng):
    """An item that nobody answered in training is counted in the table alone, which is the whole one."""
    values = (rng.random((40, 12)) < 0.5).astype(float)
    users, items = np.divmod(np.arange(values.size), 12)
    table = Observations.from_arrays(users, items, values.ravel())
    train = table.subset((items != 5) & (rng.random(items.size) < 0.8))
    KolmogorovModel(3, learn_from="ratings", user_reg=0.1, random_state=0).fit(train).report(
        tmp_path / "page.html", table
    )
    page = visit((tmp_path / "page.html").as_uri())
    assert "40 users × 12 items" in page.locator("main").inner_text()
    go(page, "items")
    assert "11 items; 1 other has no training data" in page.locator("main").inner_text()
    assert page.locator("tbody tr").count() == 11
    go(page, "matrix")
    assert page.locator("main p").first.inner_text().startswith("11 items happen in")
    sizes = page.locator(".classes .size:nth-child(3)").all_inner_texts()
    assert sum(int(text.split()[0]) for text in sizes) == 11
    go(page, "rules?supported=0&without=none")
    kinds = page.locator(".filters .check .soft").all_inner_texts()
    listed = page.evaluate("LISTED.length")
    assert sum(int(text.replace(",", "")) for text in kinds) == listed
    assert f"{listed:,} of the {listed:,} rules" in page.locator("main [role=status]").inner_text()
    go(page, "events")
    for card in page.locator(".card p.soft").all_inner_texts():
        happen = re.search(r"(All but )?(\d+) items? happen", card)
        assert happen is not None
        assert int(happen[2]) <= 11


def test_addresses_are_encoded_once(visit, tmp_path, rng):
    names = ["a, b: c", "100% & more", "plain", "ü/?#", "x", "y"]
    users, items = np.divmod(np.arange(60), 6)
    table = Observations.from_arrays(users, np.array(names)[items], rng.integers(0, 2, 60).astype(float))
    KolmogorovModel(2, learn_from="ratings", user_reg=0.1, random_state=0).fit(table).report(tmp_path / "page.html")
    page = visit((tmp_path / "page.html").as_uri())
    for name in names:
        row = names.index(name)
        go(page, page.evaluate("(name) => itemPlace(ITEMS.names.indexOf(name))", name))
        page.get_by_role("link", name="What if someone says yes to it?").click()
        expect(page.locator("[aria-pressed=true]")).to_have_count(1)
        query = address(page).split("?", 1)[1]
        assert parse_qs(query) == {"a": [f"{name}:1"]}, row
        again = visit(address(page))
        expect(again.get_by_role("button", name=f"yes to {name}")).to_have_attribute("aria-pressed", "true")


def test_an_event_goes_from_common_to_distinctive(visit, zoo_model, zoo_page):
    page = visit(f"{zoo_page}#events/2")
    found = EventItems(zoo_model.fitted_)
    page.get_by_label("Traits that are").fill("0")
    liked = [zoo_model.items_.name(int(row)) for row in np.argsort(-found.likes[:, 2], kind="stable")]
    eventually(page, lambda: cells(page, 1)[:3], lambda shown: shown == liked[:3])
    expect(page).to_have_url(re.compile("telling=0"))


# --- accessibility: axe-core looks at every view -----------------------------------------------------------------


@pytest.fixture(scope="module")
def axe():
    package = pytest.importorskip("axe_playwright_python", reason="axe needs axe-playwright-python")
    return (Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("kind", "width", "scheme"),
    [("zoo_page", 1200, "light"), ("zoo_page", 1200, "dark"), ("zoo_page", 360, "light"), ("drawn_page", 360, "dark")],
)
def test_axe_finds_nothing(visit, request, axe, kind, width, scheme):
    # The page's own policy keeps axe out like everything else.
    address = request.getfixturevalue(kind)
    page = visit(address, viewport={"width": width, "height": 800}, color_scheme=scheme, bypass_csp=True)
    page.evaluate(axe)
    for view in VIEWS:
        go(page, view)
        found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
        assert [(view, one["id"], one["nodes"][0]["html"][:200]) for one in found] == []
