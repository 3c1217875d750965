"""What a copy button copies is whole: a snippet with the lines of its page that it depends on (docs/snippets.py).

That examples run is seen where every page runs in order, test_documents.py and test_gallery.py.
"""

import ast
import builtins
import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), DOCS / "gallery" / "index.md"]


def loaded():
    spec = importlib.util.spec_from_file_location("snippets", DOCS / "snippets.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


snippets = loaded().snippets
FOUND = {path: snippets(path.read_text(encoding="utf-8")) for path in PAGES}


@pytest.mark.parametrize("path", [path for path in PAGES if FOUND[path]], ids=lambda path: path.parent.name + path.stem)
def test_no_name_is_missing(path):
    for snippet in FOUND[path]:
        if snippet.kind == "python":
            nodes = list(ast.walk(ast.parse(snippet.whole)))
            names = [node for node in nodes if isinstance(node, ast.Name)]
            known = {*dir(builtins), "__name__"} | {node.id for node in names if isinstance(node.ctx, ast.Store)}
            known |= {node.arg for node in nodes if isinstance(node, ast.arg)}
            known |= {
                node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler)
            }
            known |= {(node.asname or node.name).split(".")[0] for node in nodes if isinstance(node, ast.alias)}
            assert {node.id for node in names} <= known, snippet.whole


def test_what_was_fitted_on_the_way_is_part_of_a_setup():
    page = "```python\nimputer = object()\nfilled = imputer.fit_transform(1)\nseen = imputer.score(1)\n```\n"
    found = snippets(page + "```python\nprint(imputer)\n```\n")
    assert found[1].setup.splitlines() == ["imputer = object()", "filled = imputer.fit_transform(1)"]


def test_a_setup_is_what_a_snippet_depends_on():
    page = """
```python
import random
from pathlib import Path
random.seed(0)
numbers, words = [], []
for k in range(3):
    numbers.append(random.random())
    print(words)
Path("a.csv").write_text(str(numbers))
model = max(numbers)
```
```python
total = sum(numbers)
words += ["x"]
```
```python
print(total, model)
```
```python
model = 1
print(model)
```
```console
$ kolmogorov fit a.csv -o a.km
```
```console
$ kolmogorov rules a.km
```
"""
    found = snippets(page)
    assert found[0].setup == ""
    assert found[1].setup.splitlines()[:2] == ["import random", ""]
    assert "numbers.append" in found[1].setup
    assert "Path" not in found[1].setup
    assert "words +=" not in found[2].setup
    assert found[2].setup.splitlines()[-2:] == ["model = max(numbers)", "total = sum(numbers)"]
    assert found[3].setup == ""
    assert found[4].setup.startswith("python - <<'END'\nimport random\nfrom pathlib import Path\n")
    assert found[5].setup.endswith("END\nkolmogorov fit a.csv -o a.km\n")
    assert found[5].text == "kolmogorov rules a.km\n"
