"""Every snippet of a page runs alone: what its copy button copies, in a process that has seen nothing of the page.

Processes are forked from one that has imported the library and nothing else; the first snippet of every page, which a
reader is most likely to copy, runs in an interpreter of its own. Of the gallery, whose scripts are executed as a whole
(test_gallery.py), the last snippet of every script runs, which needs most; that no name is missing is seen of all.
"""

import ast
import builtins
import importlib.util
import io
import multiprocessing
import os
import shutil
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from helpers.pages import lacks_arviz

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), DOCS / "gallery" / "index.md"]
LONGEST = 300


def loaded():
    spec = importlib.util.spec_from_file_location("snippets", DOCS / "snippets.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


snippets = loaded().snippets
GALLERY = DOCS / "gallery" / "index.md"
FOUND = {path: snippets(path.read_text(encoding="utf-8")) for path in PAGES}


def run_python(code, folder, said, environment):
    """Run code as a script in a folder; write what went wrong."""
    os.chdir(folder)
    os.environ.update(environment)  # the process that this one is forked from may be older
    sys.stdout = io.StringIO()
    try:
        exec(compile(code, "<snippet>", "exec"), {"__name__": "__main__"})
    except BaseException:
        Path(said).write_text(traceback.format_exc(), encoding="utf-8")
        os._exit(1)
    os._exit(0)  # threads that a snippet started do not keep it


def alone(code, folder):
    """Run a snippet in a process of its own; return what went wrong."""
    context = multiprocessing.get_context("forkserver" if os.name == "posix" else "spawn")
    context.set_forkserver_preload(["kolmogorov", "numpy", "pandas", "matplotlib"])
    said = folder.parent / f"{folder.name}.txt"
    process = context.Process(target=run_python, args=(code, str(folder), str(said), dict(os.environ)))
    process.start()
    process.join(LONGEST)
    return "" if process.exitcode == 0 else said.read_text(encoding="utf-8") if said.exists() else "it did not end"


def in_an_interpreter(command, folder):
    scripts = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": scripts, "COLUMNS": "100"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=LONGEST, check=False)
    return "" if done.returncode == 0 else done.stderr.decode("utf-8")


@pytest.mark.long("pages of the docs")
@pytest.mark.parametrize("path", [path for path in PAGES if FOUND[path]], ids=lambda path: path.parent.name + path.stem)
def test_every_snippet_runs_alone(path, tmp_path, monkeypatch, request):
    if lacks_arviz(path):
        pytest.skip("ArviZ is not installed")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    for number, snippet in enumerate(FOUND[path]):
        if path == GALLERY and not is_last(number):
            continue
        if "ml-100k" in snippet.whole:
            request.getfixturevalue("data_directory")
        folder = tmp_path / str(number)
        folder.mkdir()
        if snippet.kind == "console":
            if not shutil.which("bash"):
                continue
            wrong = in_an_interpreter(["bash", "-e", "-c", snippet.whole], folder)
        elif number == 0:
            wrong = in_an_interpreter([sys.executable, "-c", snippet.whole], folder)
        else:
            wrong = alone(snippet.whole, folder)
        assert not wrong, f"{path.name}, snippet {number}:\n{snippet.whole}\n{wrong}"


def is_last(number):
    """Tell whether a snippet is the last of a script of the gallery."""
    text, found = GALLERY.read_text(encoding="utf-8"), FOUND[GALLERY]
    scripts = [text.count("<!-- gallery: ", 0, snippet.start) for snippet in found]
    return number == len(scripts) - 1 - scripts[::-1].index(scripts[number])


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
