"""The glossary lists names as they are in the code, and the words that the code does without."""

import ast
import builtins
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "kolmogorov"
PAGE = (ROOT / "docs" / "symbols.md").read_text(encoding="utf-8")
#: Names of CuPy's.
FOREIGN = {"Device", "getDeviceCount", "getDeviceProperties"}


def names_of(path):
    """Return every name that a module uses: of functions, classes, parameters, variables and attributes."""
    kinds = {
        ast.FunctionDef: "name",
        ast.ClassDef: "name",
        ast.arg: "arg",
        ast.Name: "id",
        ast.Attribute: "attr",
        ast.keyword: "arg",
    }
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    found = {getattr(node, kinds[type(node)]) for node in tree if type(node) in kinds}
    return {name for name in found if name} | {path.stem, path.parent.name}


NAMES = set().union(*(names_of(path) for path in SOURCE.rglob("*.py")))


def words(name):
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+", name)}


def section(title):
    return PAGE.split(f"## {title}")[1].split("\n## ")[0]


def rows(text):
    lines = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line] for line in lines[2:]]


def test_the_papers_symbols_have_the_names_that_are_listed():
    for row in rows(section("The paper's symbols")):
        for quoted in re.findall(r"`([A-Za-z_.]+)`", row[2]):
            if quoted != "u":
                assert all(part in NAMES or hasattr(builtins, part) for part in quoted.split(".")), quoted


def test_words_that_are_not_used():
    listed = [re.findall(r"`([a-z]+)`", row[2]) for row in rows(section("One idea, one name"))]
    unused = {word for cell in listed for word in cell}
    assert "device" in unused
    singular = {word.removesuffix("s") for word in unused}
    met = {name for name in NAMES - FOREIGN if {word.removesuffix("s") for word in words(name)} & singular}
    assert not met


def test_names_that_are_listed_are_used():
    every = set().union(*(words(name) for name in NAMES)) | {name.lstrip("_") for name in NAMES}
    for row in rows(section("One idea, one name")):
        assert row[0].strip("`") in every, row[0]
