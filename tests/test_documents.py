"""The README and the docs do what they print: their examples run, in order, in an empty folder (helpers/pages.py).

Links lead somewhere, and the reference has every public name.
"""

import re
import tomllib
from pathlib import Path

import pytest

from helpers.pages import blocks, differs, lines_of, pictures, played

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PAGES = [*sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("api/*.md"))]
DOCUMENTS = [ROOT / "README.md", CONTRIBUTING, *PAGES]
#: Names that a recipe makes up, or that are made.
INVENTED = {"my_method.py", "my_verb.py"}


@pytest.mark.long("pages of the docs")
@pytest.mark.parametrize("path", [p for p in DOCUMENTS if blocks(p)], ids=lambda p: p.name)
def test_examples_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    for block, printed in played(path):
        if differs(block, printed):
            assert lines_of(printed) == lines_of(block["text"]), "python docs/examples.py puts it right"
    for name in pictures(path):
        assert Path(name).exists(), f"{path.name} shows {name} and does not draw it"
        assert (DOCS / "images" / name).exists()


def test_links_lead_somewhere():
    for path in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_the_two_commands_are_targets_of_the_makefile():
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in re.findall(r"^    make (\w+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE):
        assert re.search(rf"^{command}:", targets, re.MULTILINE)


def test_make_demo_installs_what_the_first_pages_draw_with():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    core = re.search(r"core\.stamp:.*\n\t.*'(\.\[.*?\])'", makefile)[1]
    assert f"pip install '{core}'" in (DOCS / "index.md").read_text(encoding="utf-8")
    assert {"pandas", "plot", "report"} <= set(re.findall(r"\w+", core))


def test_recipes_name_files_that_exist():
    text = CONTRIBUTING.read_text(encoding="utf-8")
    named = re.findall(r"`((?:src|tests|docs|benchmarks|\.github|\.ci)/[\w./-]+|[A-Z]\w+\.md)`", text)
    for name in named:
        path = ROOT / name
        assert (path.parent if path.name in INVENTED else path).exists(), f"CONTRIBUTING.md names {name}"


def test_the_citation_has_the_version():
    from kolmogorov import __version__

    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_reference_has_every_public_name():
    import kolmogorov as km

    described = set(re.findall(r"^::: (\S+)$", "\n".join(path.read_text("utf-8") for path in PAGES), re.MULTILINE))
    assert {f"kolmogorov.{name}" for name in km.__all__ if name != "__version__"} <= described


def test_extras_are_all_on_the_page_about_installing():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    assert [name for name in extras if f"| `{name}` |" not in text] == []
