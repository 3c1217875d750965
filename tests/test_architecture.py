"""The page on the architecture tells of modules as they are."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "kolmogorov"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
WALKS = re.findall(r"```text walk\n(.*?)```", PAGE, re.DOTALL)


def file_of(module):
    single = SOURCE / f"{module}.py"
    return single if single.exists() else SOURCE / module / "__init__.py"


def imported_by(module):
    """Names of all modules that one imports, at its top or within functions, as paths."""
    found = set()
    for node in ast.walk(ast.parse(file_of(module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("kolmogorov"):
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return {name.removeprefix("kolmogorov").lstrip(".").replace(".", "/") for name in found}


def steps(walk):
    """Pairs of a module and the one further left above it."""
    above = []
    for line in walk.splitlines():
        depth = len(line) - len(line.lstrip())
        above = [(d, name) for d, name in above if d < depth]
        name = line.split()[0]
        yield (above[-1][1] if above else None), name
        above.append((depth, name))


@pytest.mark.parametrize("walk", WALKS, ids=[walk.split(None, 1)[0] for walk in WALKS])
def test_walks_are_straight_ways_down(walk):
    for upper, module in steps(walk):
        assert file_of(module).exists(), f"{module} does not exist"
        if upper is not None:
            assert module in imported_by(upper), f"{upper} imports {sorted(imported_by(upper))}, not {module}"


def test_the_walks_are_there():
    assert [walk.split(None, 1)[0] for walk in WALKS] == [
        f"cli/verbs/{verb}" for verb in ("fit", "predict", "rules", "report")
    ]


def test_paths_in_the_page_exist():
    text = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
    for path in re.findall(r"`((?:[a-z_]+/)+[a-z_]+(?:\.py)?)`", text):
        root = ROOT if path.startswith(("tests/", "docs/")) else SOURCE
        assert (root / path).exists() or (root / f"{path}.py").exists(), path
