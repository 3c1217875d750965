"""The README and the docs do what they print: their examples run, in order, in an empty folder (helpers/pages.py).

Pages say first what they are good for, how-tos show what they print, and the reference has every public name.
"""

import re
import tomllib
from pathlib import Path

import pytest

from helpers import peers
from helpers.pages import blocks, differs, lines_of, pictures, played

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PAGES = [*sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("api/*.md"))]
DOCUMENTS = [ROOT / "README.md", CONTRIBUTING, *PAGES]
#: Names that a recipe makes up, or that are made.
INVENTED = {"my_method.py", "my_verb.py", "my_page.md", "table7.py", "fig9.py"}
#: Pages whose examples need what a machine that runs the tests may not have.
NOT_RUN = {"gpu.md"}
SITE = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


@pytest.mark.long("pages of the docs")
@pytest.mark.parametrize("path", peers.marked(p for p in DOCUMENTS if blocks(p)), ids=lambda p: p.name)
def test_examples_run(path, tmp_path, monkeypatch):
    peers.need(*peers.PAGES.get(path.name, ()))
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


def test_the_readme_is_two_screens():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 100


def test_numbers_of_the_readme_are_those_that_were_measured():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    good = re.search(r"^## How good, how fast\n(.*?)^## ", readme, re.MULTILINE | re.DOTALL)[1]
    # What a benchmark measured stands in a table that it fills (tests/test_benchmarks.py), and nowhere else.
    words = re.sub(r"<!-- table: readme -->.*?<!-- end -->", "", good, flags=re.DOTALL)
    assert words != good
    assert re.findall(r"\d+(?:\.\d+)?", re.sub(r"\(.*?\)", "", words)) == []


def test_the_two_commands_are_targets_of_the_makefile():
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in re.findall(r"^    make (\w+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE):
        assert re.search(rf"^{command}:", targets, re.MULTILINE)


def test_make_demo_installs_what_the_first_pages_draw_with():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    core = re.search(r"core\.stamp:.*\n\t.*'(\.\[.*?\])'", makefile)[1]
    for name in ("index.md", "install.md"):
        assert f"pip install '{core}'" in (DOCS / name).read_text(encoding="utf-8")
    assert {"pandas", "plot", "report"} <= set(re.findall(r"\w+", core))


def test_recipes_name_files_that_exist():
    text = CONTRIBUTING.read_text(encoding="utf-8")
    named = re.findall(r"`((?:src|tests|docs|benchmarks|\.github|\.ci)/[\w./-]+|[A-Z]\w+\.md)`", text)
    assert len(named) > 20
    for name in named:
        path = ROOT / name
        assert (path.parent if path.name in INVENTED else path).exists(), f"CONTRIBUTING.md names {name}"


def test_the_citation_has_the_version():
    from kolmogorov import __version__

    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def section(title):
    """Return the pages of a section of the site; those of a pattern are made."""
    entries = re.search(rf"^  - {title}:\n((?:      - .*\n)+)", SITE, re.MULTILINE)[1]
    return [DOCS / name for name in re.findall(r"- (\S+\.md)$", entries, re.MULTILINE) if "*" not in name]


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.stem)
def test_a_page_says_first_what_it_is_good_for(path):
    title, _, first = path.read_text(encoding="utf-8").partition("\n\n")
    assert title.startswith("# ")
    assert first.startswith("After this page you "), f"{path.name} should say what its reader can do after it"


def test_there_are_at_most_thirty_pages():
    titles = re.findall(r"^  - ([A-Z][\w ]+):$", SITE, re.MULTILINE)
    pages = [path for title in titles for path in section(title) if path.parent.name != "api"]
    assert len(pages) == len(set(pages)) <= 30
    assert set(DOCS.glob("*.md")) <= set(pages)


@pytest.mark.parametrize(
    "path",
    [p for title in ("Predict", "Explain", "Scale") for p in section(title) if p.name not in NOT_RUN],
    ids=lambda p: p.stem,
)
def test_a_how_to_shows_what_it_prints(path):
    assert any(block["kind"] in ("output", "roughly") for block in blocks(path))


@pytest.mark.parametrize(
    "path", [p for title in ("Start", "Predict", "Explain", "Scale") for p in section(title)], ids=lambda p: p.stem
)
def test_a_page_begins_with_its_example(path):
    text = path.read_text(encoding="utf-8")
    if path.parent.name != "gallery":  # which is a page of examples
        assert 0 < text.find("\n```") < text.find("\n## ") % len(text), f"{path.name} should begin with its example"


def test_the_reference_has_every_public_name():
    import kolmogorov as km
    from kolmogorov.solvers import registry

    described = set(re.findall(r"^::: (\S+)$", "\n".join(path.read_text("utf-8") for path in PAGES), re.MULTILINE))
    wanted = {f"kolmogorov.{name}" for name in km.__all__ if name != "__version__"} | {"kolmogorov.testing"}
    wanted |= {target.replace(":", ".") for family in registry._TARGETS.values() for target in family.values()}
    assert wanted <= described


def test_pictures_are_small():
    for path in (DOCS / "images").glob("*.png"):
        assert path.stat().st_size < 100_000, path.name


def test_extras_are_all_on_the_page_about_installing():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    text = (DOCS / "install.md").read_text(encoding="utf-8")
    assert [name for name in extras if f"| `{name}` |" not in text] == []
