"""The report in a real browser: every view, and that what it computes is what the library computes."""

import csv
import io
import re
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from helpers.browser import address, eventually, go
from kolmogorov import KolmogorovModel, Observations, datasets
from kolmogorov.interpret.events import EventItems

expect = pytest.importorskip("playwright.sync_api", reason="browser tests need playwright").expect
pytestmark = pytest.mark.xdist_group("browser")
VIEWS = (
    *("overview", "what-if", "events", "events/2", "matrix", "rules", "order", "order/eggs", "items", "items/eggs"),
    *("users", "users/dolphin", "wrong"),
)
MODES = [
    pytest.param("zoo_page", {"viewport": {"width": 1200, "height": 800}, "color_scheme": "dark"}, id="desk"),
    pytest.param("drawn_page", {"viewport": {"width": 360, "height": 740}, "color_scheme": "light"}, id="phone"),
]
EXPLAINED = """([user, item]) => {
    const found = explained(thetaOf(KEYS.user.find(user)), KEYS.item.find(item));
    return { ...found, parts: [...found.parts] };
}"""
FOLD = "(answers) => { const t = foldIn(new Map(answers)); return [[...t], [...predictAll(t)]]; }"
EVIL = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


def cells(page, column, table=0):
    return page.locator("table").nth(table).locator(f"tbody tr td:nth-child({column})").all_inner_texts()


def number(text):
    return float(text.rstrip("%").replace("−", "-"))


@pytest.mark.parametrize(("kind", "options"), MODES)
def test_every_view_is_drawn_fits_and_can_be_read_by_everybody(visit, request, kind, options):
    package = pytest.importorskip("axe_playwright_python", reason="axe needs axe-playwright-python")
    # The page's own policy keeps axe out like everything else.
    page = visit(request.getfixturevalue(kind), **options, bypass_csp=True)
    page.evaluate((Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    for view in VIEWS:
        go(page, view)
        assert page.locator("h2").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), view
        assert not re.search("undefined|NaN", page.locator("main").inner_text())
        found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
        assert [(view, one["id"], one["nodes"][0]["html"][:200]) for one in found] == []
    for strange in ("constructor", "items/99999", "items/%E0%A4%A", "matrix?in=99", "what-if?a=eggs:7,:1,%ZZ:0"):
        go(page, strange)
        assert page.locator("h2").count() == 1


def test_predictions_of_the_page_add_up_to_those_of_the_model(visit, zoo, zoo_model, zoo_page, drawn_model, drawn_page):
    for address_of, model in ((zoo_page, zoo_model), (drawn_page, drawn_model)):
        page = visit(address_of)
        assert "Beats the best simple guess by" in page.locator(".verdict.good").inner_text()
        user, item = (page.locator(".example a").nth(k).inner_text() for k in (0, 1))
        place = (zoo.user_rows() == zoo.users.encode([user])[0]) & (zoo.item_rows() == zoo.items.encode([item])[0])
        for way in (None, ("dolphin", "tail"), ("gnat", "milk")):
            if way:
                user, item = way
                go(page, f"users/{user}?i={item}")
            base, *steps, end = map(number, page.locator(".waterfall .number").all_inner_texts())
            assert base + sum(steps) == pytest.approx(end, abs=1e-9)
            if way is None:
                assert page.locator(".badge").inner_text() == (
                    "Hit" if (end >= 50) == bool(zoo.values[place]) else "Miss"
                )
            why = model.explain(user, item)
            # Draws are read through one model; what they say beyond it is no step of the page.
            assert end == pytest.approx(100 * (why.probability - getattr(why, "rest", 0.0)), abs=0.06)
            found = page.evaluate(EXPLAINED, [user, item])
            assert np.allclose(found["parts"], why.contributions, atol=1e-4)


def random_answers(rng, model, values):
    rows = rng.choice(np.flatnonzero(model.fitted_.item_seen), rng.integers(1, 8), replace=False)
    return rows, rng.choice(values, rows.size)


@pytest.mark.parametrize("kind", ["zoo_page", "drawn_page", "ratings", "only yes"])
def test_what_if_is_fold_in(visit, request, zoo, zoo_model, tmp_path, rng, kind):
    """What the page makes of some answers is what fold-in, a row of a table and `recommend(guest=)` make of them."""
    values = [0.0, 1.0]
    if kind in ("zoo_page", "drawn_page"):
        address_of = request.getfixturevalue(kind)
        model = zoo_model if kind == "zoo_page" else request.getfixturevalue("drawn_model").as_model(psi="soft")
    else:
        yes, values = zoo.values == 1, [1.0] if kind == "only yes" else values
        train = Observations.from_arrays(zoo.user_rows()[yes], zoo.item_rows()[yes], np.ones(int(yes.sum())))
        only_yes = KolmogorovModel(4, psi="soft", unobserved=0.3, random_state=0)
        ratings = KolmogorovModel(5, psi="soft", learn_from="ratings", random_state=0)
        model = only_yes.fit(train) if kind == "only yes" else ratings.fit(zoo)
        model.report(tmp_path / "page.html")
        address_of = (tmp_path / "page.html").as_uri()
    page, seen = visit(address_of), model.fitted_.item_seen
    for _ in range(6):
        rows, said = random_answers(rng, model, values)
        theta, predicted = page.evaluate(FOLD, [[int(k), float(value)] for k, value in zip(rows, said, strict=True)])
        scale = {"minimum": model.scale_.minimum, "maximum": model.scale_.maximum}
        new = Observations.from_arrays(["new"] * len(rows), model.items_.ids[rows], model.scale_.rating(said), **scale)
        assert np.abs(np.array(theta) - model.fold_in(new, side="users")[0]).max() < 1e-9
        if kind == "only yes":
            continue
        table = np.full((1, len(model.items_)), np.nan)
        table[0, rows] = model.scale_.rating(said)
        assert np.abs(np.array(predicted) - model.predict(table)[0])[seen].max() < 1e-9
        guest = dict(zip(model.items_.ids[rows].tolist(), model.scale_.rating(said).tolist(), strict=True))
        found = model.recommend(guest=guest, n=len(seen), min_count=1)
        listed = dict(zip(model.items_.encode(found["item"]).tolist(), found["probability"], strict=True))
        assert listed == pytest.approx({k: predicted[k] for k in listed}, abs=1e-9)


def test_answers_are_ticked_kept_in_the_address_and_reset(visit, zoo_page):
    page = visit(f"{zoo_page}#what-if?a=none")
    for name in ("yes to feathers", "no to predator"):
        page.get_by_role("button", name=name).click()
        expect(page.get_by_role("button", name=name)).to_have_attribute("aria-pressed", "true")
    assert "⇒" in page.locator(".fired").inner_text()
    again = visit(page.get_by_role("link", name="Link to these answers").evaluate("(link) => link.href"))
    assert cells(again, 3) == cells(page, 3)
    page.get_by_role("button", name="Reset").click()
    expect(page.locator("[aria-pressed=true]")).to_have_count(0)


def test_events_are_those_of_the_model_and_are_renamed_everywhere(visit, zoo_model, zoo_page):
    page, found = visit(f"{zoo_page}#events"), EventItems(zoo_model.fitted_)
    names = found.names()
    for card in page.locator(".card").all():
        event = names.index(card.locator("h3").inner_text())
        expected = [zoo_model.items_.name(row) for row in found.best(event, 5)]
        assert card.locator("ul:not(.plain) li").all_inner_texts() == expected
    go(page, "events/2")
    field = page.get_by_role("textbox", name="Name of this event")
    field.fill("The <b>third</b> & last")
    field.press("Enter")
    expect(page.locator("h2")).to_have_text("The <b>third</b> & last")
    expect(visit(address(page)).locator("main")).to_contain_text("The <b>third</b> & last")
    go(page, "matrix")
    supports = {tuple(row) for row in zoo_model.psi_.tolist()}
    assert page.locator(".classes details").count() == len(supports)


def test_rules_are_filtered_and_saved(visit, zoo_page):
    page = visit(f"{zoo_page}#rules")
    assert set(cells(page, 1)) <= {"implication", "equivalence"}
    page.get_by_label("exclusion").check()
    page.get_by_label("only rules that the data support").uncheck()
    page.get_by_label("at least … cases").fill("3")
    page.get_by_label("Only rules about").fill("eggs")
    eventually(page, lambda: cells(page, 4), lambda texts: texts and min(map(int, texts)) >= 3)
    both = page.locator("tbody tr").filter(has_text="eggs")
    eventually(page, lambda: (both.count(), page.locator("tbody tr").count()), lambda found: found[0] == found[1] > 0)
    pairs = list(zip(cells(page, 2), cells(page, 3), strict=True))
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save this table as CSV: rules").click()
    rows = list(csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text(encoding="utf-8"))))
    assert len(rows) == len(pairs)
    assert float(rows[0]["low"]) <= float(rows[0]["confidence"]) <= float(rows[0]["high"])
    again = visit(address(page))
    assert list(zip(cells(again, 2), cells(again, 3), strict=True)) == pairs
    found = page.evaluate("['=1+1', '-cmd', 'a,\"b', -3.5, null, '＝x'].map(safeCell)")
    assert found == ["'=1+1", "'-cmd", '"a,""b"', "-3.5", "", "'＝x"]


def test_a_page_of_thousands_of_items_is_searched_and_back_restores_it(visit, tmp_path):
    rng = np.random.default_rng(0)
    psi, theta = rng.random((4000, 12)) < rng.random((4000, 1)), rng.dirichlet(np.full(12, 0.2), 500)
    users, items = np.repeat(np.arange(500), 240), np.concatenate([rng.permutation(4000)[:240] for _ in range(500)])
    values = (rng.random(len(users)) < np.einsum("nd,nd->n", theta[users], psi[items])).astype(float)
    titles = np.array([f"Title of item {k:04d} " + "that goes on and on " * 15 for k in range(4000)], dtype=object)
    model = KolmogorovModel(12, learn_from="ratings", user_reg=1.0, max_iter=2, random_state=0)
    model.fit(Observations.from_arrays(users, titles[items], values)).report(tmp_path / "large.html")
    page = visit((tmp_path / "large.html").as_uri() + "#order")
    before = page.locator(".node").count()
    page.locator(".more").first.focus()
    page.keyboard.press("Enter")
    opened = eventually(page, page.locator(".node").count, lambda count: count > before)
    expect(visit(address(page)).locator(".node")).to_have_count(opened)
    go(page, "items")
    page.get_by_label("Filter items by name").fill("item 1")
    page.get_by_role("button", name="trained on").click()
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("trained on")
    counts = list(map(int, cells(page, 3)))
    assert counts == sorted(counts, reverse=True)
    order = cells(page, 1)
    page.locator("tbody tr").nth(9).locator("a").evaluate("(link) => link.click()")
    page.wait_for_function("() => location.hash.startsWith('#items/')")
    page.go_back()
    expect(page.get_by_label("Filter items by name")).to_have_value("item 1")
    assert cells(page, 1) == order
    page.keyboard.press("/")
    page.keyboard.type("item 0042")
    eventually(page, page.locator(".found a").count, bool)
    page.keyboard.press("Enter")
    expect(page.locator("h2")).to_contain_text("item 0042")


def test_hostile_and_endless_names_are_shown_and_not_run(visit, tmp_path):
    names = [EVIL, "x", "__proto__", "", "a/b?c=d#e&f", "100%", "~1", "=HYPERLINK(1)", "ü\u202e\u0007", "long" * 25_000]
    users = [user for user in (EVIL, "b", "c", "constructor") for _ in names]
    values = np.random.default_rng(1).integers(0, 2, len(users)).astype(float)
    model = KolmogorovModel(2, learn_from="ratings", random_state=0, user_reg=0.01)
    model.fit(Observations.from_arrays(users, names * 4, values))
    model.report(tmp_path / "evil.html", title=EVIL, nouns=(EVIL, "x/y"))
    page = visit((tmp_path / "evil.html").as_uri())
    places = page.evaluate("ITEMS.names.map((_, row) => [itemPlace(row), itemPlace(row, 'order')])")
    for view in ("overview", "what-if", "events", "matrix", "rules", "users/~0", "wrong", *chain(*places)):
        go(page, view)
        assert "owned" not in page.title().replace(EVIL[:30], "").replace("document.title='owned'", "")
        assert page.locator("img").count() == 0
        assert page.locator("script").count() == 2
    for row, (place, _) in enumerate(places):
        go(page, place)
        shown, name = page.locator("h2").text_content(), page.evaluate("(row) => ITEMS.names[row]", row)
        assert shown == name or (len(name) > 200 and name.startswith(shown.removesuffix("…")))


def test_pictures_are_drawn_in_the_frame_of_a_notebook(visit, tmp_path):
    model = KolmogorovModel(4, learn_from="ratings", user_reg=0.3, max_iter=3, random_state=0)
    shown = model.fit(datasets.load("digits")).report(image=(8, 8), max_users=20)._repr_html_()
    (tmp_path / "notebook.html").write_text(f"<!doctype html><title>n</title>{shown}", encoding="utf-8")
    frame = visit((tmp_path / "notebook.html").as_uri()).frame_locator("iframe")
    frame.locator("nav a", has_text="Events").click()
    expect(frame.locator("svg.picture")).to_have_count(4)
    expect(frame.locator("svg.picture").first.locator("rect")).to_have_count(64)
