"""`kolmogorov report` and what is special about it."""

import webbrowser

import pytest
from click.testing import CliRunner

from kolmogorov.cli import main

pytest.importorskip("jinja2", reason="reports need the extra 'report'")


@pytest.fixture
def model(zoo_model, tmp_path):
    path = tmp_path / "zoo.km"
    zoo_model.save(path)
    return path


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_it_opens_what_it_has_written(model, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    page = tmp_path / "page.html"
    found = run("report", model, "--data", "dataset:zoo", "--nouns", "animal,trait", "--open", "-o", page)
    assert found.exit_code == 0, found.output
    assert opened == [page.resolve().as_uri()]
    assert '"user":["animal","animals"]' in page.read_text(encoding="utf-8")
    assert "MB" in found.stderr


@pytest.mark.parametrize("nouns", ["animal", "a,b,c", ",trait"])
def test_nouns_are_two_words(model, tmp_path, nouns):
    found = run("report", model, "--nouns", nouns, "-o", tmp_path / "page.html")
    assert found.exit_code != 0
    assert "two words" in found.output
    assert not (tmp_path / "page.html").exists()
