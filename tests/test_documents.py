"""The README and the docs do what they print: their Python and shell examples run, in order, in an empty folder.

A block called output says what the block before it prints, to the letter.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
DOCUMENTS = [ROOT / "README.md", CONTRIBUTING, *sorted((ROOT / "docs").glob("*.md"))]
#: Names that a recipe makes up, or that are made.
INVENTED = {"my_method.py", "my_verb.py", "table7.py", "fig9.py"}
BLOCK = re.compile(r"^```(python|console|output)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(path):
    return BLOCK.findall(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", [p for p in DOCUMENTS if blocks(p)], ids=lambda p: p.name)
def test_examples_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace, printed = {}, ""
    for language, text in blocks(path):
        if language == "output":
            assert lines_of(printed) == lines_of(text)
        elif language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as said:
                exec(compile(text, str(path), "exec"), namespace)
            printed = said.getvalue()
        else:
            printed = "".join(run(line[2:]) for line in text.splitlines() if line.startswith("$ "))


def run(line):
    command = shlex.split(line)
    assert command[0] == "kolmogorov"
    # The width of tables is that of the terminal, of which there is none.
    environment = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run([sys.executable, "-m", *command], check=True, capture_output=True, env=environment)
    return done.stdout.decode("utf-8")


def lines_of(text):
    return [line.rstrip() for line in text.strip().splitlines()]


def test_links_lead_somewhere():
    for path in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_the_two_commands_are_targets_of_the_makefile():
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in re.findall(r"^    make (\w+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE):
        assert re.search(rf"^{command}:", targets, re.MULTILINE)


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
