"""What people read: names that act on nothing, and what notebooks show of values, with every name as text."""

import logging
import re
from html.parser import HTMLParser

import pytest

from kolmogorov import BayesianKolmogorovModel, KolmogorovModel
from kolmogorov._support.display import bars, card, notice, shown, table

EVIL = "<script>alert(1)</script>"


class Balanced(HTMLParser):
    """Fails where a tag is not closed."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.seen = set()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def checked(html):
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    assert "script" not in parser.seen
    return html


@pytest.fixture(scope="module")
def model(zoo):
    return KolmogorovModel(5, learn_from="ratings", user_reg=0.3, n_init=5, random_state=0).fit(zoo)


def test_names_are_escaped():
    html = checked(card(EVIL, table({EVIL: [EVIL]}), bars([EVIL], [1.0], [EVIL])))
    assert html.count("&lt;script&gt;") == 5


def test_a_model_shows_what_it_learned(model, zoo):
    html = checked(model._repr_html_())
    assert "5 events" in html
    assert "feathers" in html
    assert model._repr_mimebundle_()["text/html"] == html
    assert "KolmogorovModel" in KolmogorovModel()._repr_html_()
    drawn = BayesianKolmogorovModel(4, n_chains=1, burn_in=5, n_samples=2, random_state=0).fit(zoo)
    assert "events" in checked(drawn._repr_html_())


def test_relations_rules_and_explanations(model, zoo):
    relations = model.relations()
    assert "implications" in repr(relations)
    assert str(relations.counts["implication"]) in checked(relations._repr_html_())
    rules = model.rules(zoo)
    assert f"{len(rules):,} rules" in checked(rules._repr_html_())
    why = model.explain("dove", "eggs")
    assert "dove says yes to eggs" in repr(why)
    assert "Rules that lead to it" in checked(why._repr_html_())


def test_events_are_a_table_and_negative_amounts_go_to_the_left(model):
    events = model.events()
    html = checked(events._repr_html_())
    assert all(event.items[0] in html for event in events)
    assert events.to_frame("pandas")["share"].sum() == pytest.approx(1.0)
    drawn = re.findall("margin-left:([0-9.]*)px;width:([0-9.]*)px", bars("ab", [3.0, -1.0], "ab"))
    assert drawn == [("40.0", "120.0"), ("0.0", "40.0")]


def test_notices_cannot_act(capsys, caplog):
    with caplog.at_level(logging.INFO, "kolmogorov"):
        notice("a\x1b[31m\nb", always=True)
    assert capsys.readouterr().err == "kolmogorov: a\\x1b[31m\\nb\n"
    assert caplog.messages == ["a\\x1b[31m\\nb"]


def test_what_acts_is_escaped_and_what_is_only_unusual_stays():
    for text in (*"\x1b\n\r\t\x00\x07\x7f\x9b\u202e\u2066\u200b\u2028", "\ud800"):
        escaped = shown(f"a{text}b")
        assert escaped.isprintable()
        assert escaped.startswith("a\\")
        assert shown(escaped) == escaped
    for text in ("Amélie", "七人の侍", "می\u200cروم", "👩\u200d🚀", "[red]x[/red]", "a\\b"):
        assert shown(text) == text
