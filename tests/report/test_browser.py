"""The page in a real browser: it is drawn, it is linked, and what it computes is what the library computes."""

import re
from pathlib import Path

import numpy as np
import pytest

from kolmogorov import KolmogorovModel, Observations, datasets
from kolmogorov.interpret.events import EventItems

expect = pytest.importorskip("playwright.sync_api", reason="browser tests need playwright").expect
pytestmark = pytest.mark.xdist_group("browser")
MODES = [
    pytest.param("zoo_page", {"viewport": {"width": 1200, "height": 800}, "color_scheme": "dark"}, id="desk"),
    pytest.param("drawn_page", {"viewport": {"width": 360, "height": 740}, "color_scheme": "light"}, id="phone"),
]
FOLD = "(answers) => { const t = foldIn(new Map(answers)); return [[...t], [...predictAll(t)]]; }"
EVIL = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


def number(text):
    return float(text.rstrip("%").replace("−", "-"))


def choose(page, name):
    """Find an item or somebody by name, and choose it."""
    field = page.locator("#search input")
    field.fill(name)
    page.locator("#search .found button").get_by_text(name, exact=True).first.click()
    expect(page.locator("#panel h2")).to_have_text(name)


@pytest.mark.parametrize(("kind", "options"), MODES)
def test_the_page_is_drawn_fits_and_can_be_read_by_everybody(visit, request, kind, options):
    package = pytest.importorskip("axe_playwright_python", reason="axe needs axe-playwright-python")
    # The page's own policy keeps axe out like everything else.
    page = visit(request.getfixturevalue(kind), **options, bypass_csp=True)
    page.evaluate((Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    assert page.locator("h2").all_inner_texts()[:5] == ["Overview", "Events", "Matrix", "Rules", "What if"]
    for name in (None, "dolphin", "eggs"):
        if name:
            choose(page, name)
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), name
        assert not re.search("undefined|NaN", page.locator("body").inner_text())
        found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
        assert [(name, one["id"], one["nodes"][0]["html"][:200]) for one in found] == []


def test_predictions_of_the_page_add_up_to_those_of_the_model(visit, zoo_model, zoo_page, drawn_model, drawn_page):
    for address, model in ((zoo_page, zoo_model), (drawn_page, drawn_model)):
        page = visit(address)
        assert "Beats the best simple guess by" in page.locator(".verdict.good").inner_text()
        user, item = (page.locator("#overview .box .link").nth(k).inner_text() for k in (0, 1))
        for way in ((user, item), ("dolphin", None), ("gnat", None)):
            place = page.locator("#overview .waterfall")
            if way[1] is None:
                choose(page, way[0])
                line = page.locator("#panel li", has=page.get_by_role("button", name="why?")).last
                way = (way[0], line.locator(".link").inner_text())
                line.get_by_role("button", name="why?").click()
                place = page.locator("#panel .waterfall")
            base, *steps, end = map(number, place.locator(".number").all_inner_texts())
            assert base + sum(steps) == pytest.approx(end, abs=1e-9)
            why = model.explain(*way)
            # Draws are read through one model; what they say beyond it is no step of the page.
            assert end == pytest.approx(100 * (why.probability - getattr(why, "rest", 0.0)), abs=0.06)


def random_answers(rng, model, values):
    rows = rng.choice(np.flatnonzero(model.fitted_.item_seen), rng.integers(1, 8), replace=False)
    return rows, rng.choice(values, rows.size)


@pytest.mark.parametrize("kind", ["zoo_page", "drawn_page", "only yes"])
def test_what_if_is_fold_in(visit, request, zoo, zoo_model, tmp_path, rng, kind):
    """What the page makes of some answers is what fold-in and `recommend(guest=)` make of them."""
    values = [1.0] if kind == "only yes" else [0.0, 1.0]
    if kind == "only yes":
        yes = zoo.values == 1
        train = Observations.from_arrays(zoo.user_rows()[yes], zoo.item_rows()[yes], np.ones(int(yes.sum())))
        model = KolmogorovModel(4, psi="soft", unobserved=0.3, random_state=0).fit(train)
        model.report(tmp_path / "page.html")
        address_of = (tmp_path / "page.html").as_uri()
    else:
        address_of = request.getfixturevalue(kind)
        model = zoo_model if kind == "zoo_page" else request.getfixturevalue("drawn_model").as_model(psi="soft")
    page, seen = visit(address_of), model.fitted_.item_seen
    for _ in range(6):
        rows, said = random_answers(rng, model, values)
        theta, predicted = page.evaluate(FOLD, [[int(k), float(value)] for k, value in zip(rows, said, strict=True)])
        scale = {"minimum": model.scale_.minimum, "maximum": model.scale_.maximum}
        new = Observations.from_arrays(["new"] * len(rows), model.items_.ids[rows], model.scale_.rating(said), **scale)
        assert np.abs(np.array(theta) - model.fold_in(new, side="users")[0]).max() < 1e-7
        if kind == "only yes":
            continue
        guest = dict(zip(model.items_.ids[rows].tolist(), model.scale_.rating(said).tolist(), strict=True))
        found = model.recommend(guest=guest, n=len(seen), min_count=1)
        listed = dict(zip(model.items_.encode(found["item"]).tolist(), found["probability"], strict=True))
        assert listed == pytest.approx({k: predicted[k] for k in listed}, abs=1e-7)


def test_what_is_chosen_shows_in_every_part(visit, zoo_model, zoo_page):
    page, found = visit(zoo_page), EventItems(zoo_model.fitted_)
    names = found.names()
    for card in page.locator(".card").all():
        event = names.index(card.locator("h3").inner_text().strip())
        listed = card.locator("p").last.locator(".link").all_inner_texts()
        assert listed == [zoo_model.items_.name(row) for row in found.best(event, 4)]
    page.locator(".card h3 button").first.click()
    expect(page.locator(".card.lit")).to_have_count(1)
    expect(page.locator(".matrix th.lit")).to_have_count(1)
    psi = page.evaluate("CHOSEN.event"), page.locator(".matrix tbody tr").first.locator("th").inner_text()
    assert zoo_model.psi_[zoo_model.items_.encode([psi[1]])[0], psi[0]]
    choose(page, "eggs")
    expect(page.locator(".matrix tr.lit th")).to_have_text("eggs")
    rules = page.locator("#rules li").all_inner_texts()
    assert rules
    assert all("eggs" in rule for rule in rules)
    page.get_by_label("Find traits in the matrix").fill("catsi")
    expect(page.locator(".matrix tbody tr")).to_have_count(1)
    page.get_by_role("button", name="Close").click()
    expect(page.locator(".matrix tr.lit")).to_have_count(0)
    result = page.locator("#what-if .box")
    before = result.inner_text()
    page.locator("#what-if select").first.select_option("yes")
    expect(result).to_contain_text("Someone who says so")
    page.get_by_role("button", name="Reset").click()
    expect(result).to_have_text(before, use_inner_text=True)


def test_hostile_and_endless_names_are_shown_and_not_run(visit, tmp_path):
    names = [EVIL, "x", "__proto__", "", "a/b?c=d#e&f", "100%", "~1", "=HYPERLINK(1)", "ü\u202e\u0007", "long" * 25_000]
    users = [user for user in (EVIL, "b", "c", "constructor") for _ in names]
    values = np.random.default_rng(1).integers(0, 2, len(users)).astype(float)
    model = KolmogorovModel(2, learn_from="ratings", random_state=0, user_reg=0.01)
    model.fit(Observations.from_arrays(users, names * 4, values))
    model.report(tmp_path / "evil.html", title=EVIL, nouns=(EVIL, "x/y"))
    page = visit((tmp_path / "evil.html").as_uri())
    for row in range(len(names)):
        page.evaluate("(row) => choose({ item: row, user: null })", row)
        shown, name = page.locator("#panel h2").text_content(), page.evaluate("(row) => ITEMS.names[row]", row)
        assert shown == name or (len(name) > 200 and name.startswith(shown.removesuffix("…")))
        page.evaluate("(user) => choose({ item: null, user })", row % 4)
    assert page.title() == EVIL
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2


def test_pictures_are_drawn_in_the_frame_of_a_notebook(visit, tmp_path):
    model = KolmogorovModel(4, learn_from="ratings", user_reg=0.3, max_iter=3, random_state=0)
    shown = model.fit(datasets.load("digits")).report(image=(8, 8), max_users=20)._repr_html_()
    (tmp_path / "notebook.html").write_text(f"<!doctype html><title>n</title>{shown}", encoding="utf-8")
    frame = visit((tmp_path / "notebook.html").as_uri()).frame_locator("iframe")
    expect(frame.locator("svg.picture")).to_have_count(4)
    expect(frame.locator("svg.picture").first.locator("rect")).to_have_count(64)


def test_lists_are_those_of_the_model(visit, list_model, bought, tmp_path):
    list_model.report(tmp_path / "lists.html", bought)
    page = visit((tmp_path / "lists.html").as_uri())
    assert "Beats the most popular items" in page.locator(".verdict.good").inner_text()
    chosen = page.locator("#what-if .plain li").first.inner_text().split(" take")[0]
    expected = list_model.recommend(guest={chosen: 1}, n=10)
    listed = page.locator("#what-if ol li").all_inner_texts()
    assert [text.rsplit(" ", 2)[0] for text in listed] == expected["item"].tolist()
    assert [float(text.split()[-2]) for text in listed] == pytest.approx(expected["score"].tolist(), abs=1e-4)
    choose(page, "game 5")
    weights = list_model.fitted_.links.out_of(int(list_model.items_.encode(["game 5"])[0]))
    first = page.locator("#panel .bars").last.locator("li").first
    assert first.locator(".link").inner_text() == list_model.items_.ids[int(np.argmax(weights))]
    assert float(first.locator(".number").inner_text()) == pytest.approx(weights.max(), abs=1e-3)
