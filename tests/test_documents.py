"""The README and the docs do what they print: their Python and shell examples run, in order, in an empty folder."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(path):
    return BLOCK.findall(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", [p for p in DOCUMENTS if blocks(p)], ids=lambda p: p.name)
def test_examples_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for language, text in blocks(path):
        if language == "python":
            exec(compile(text, str(path), "exec"), namespace)
            continue
        for line in text.splitlines():
            if line.startswith("$ "):
                command = shlex.split(line[2:])
                assert command[0] == "kolmogorov"
                subprocess.run([sys.executable, "-m", *command], check=True, capture_output=True, env=os.environ)


def test_links_lead_somewhere():
    for path in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_the_two_commands_are_targets_of_the_makefile():
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in re.findall(r"^    make (\w+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE):
        assert re.search(rf"^{command}:", targets, re.MULTILINE)
