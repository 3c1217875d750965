"""The examples of a page: run in order, in the folder that is current, and compared with what the page says they print.

A block called output says what the block before it prints, to the letter; one called roughly, to a tenth, for numbers
that come from draws.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys

BLOCK = re.compile(r"^```(?P<kind>python|console|output|roughly)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"!\[[^\]]*\]\(images/(?P<name>[\w-]+\.png)\)")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def blocks(path):
    """Return the blocks of a page that are run or compared."""
    return list(BLOCK.finditer(path.read_text(encoding="utf-8")))


def pictures(path):
    """Return the names of the pictures that a page's own examples draw."""
    return PICTURE.findall(path.read_text(encoding="utf-8"))


def played(path):
    """Run a page; give for every block that says what is printed the block, and what was printed."""
    namespace, printed = {"__name__": "__main__"}, ""
    for block in blocks(path):
        if block["kind"] in ("output", "roughly"):
            yield block, printed
        elif block["kind"] == "python":
            # Blank lines before it, so that a traceback names lines of the page.
            code = "\n" * block.string.count("\n", 0, block.start("text")) + block["text"]
            with contextlib.redirect_stdout(io.StringIO()) as said:
                exec(compile(code, str(path), "exec"), namespace)
            printed = said.getvalue()
        else:
            lines = block["text"].replace("\\\n", " ").splitlines()
            printed = "".join(run(line[2:]) for line in lines if line.startswith("$ "))


def run(line):
    """Run a line of a shell; return what it prints."""
    command = shlex.split(line)
    assert command[0] == "kolmogorov"
    # The width of tables is that of the terminal, of which there is none.
    environment = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr.decode("utf-8")
    return done.stdout.decode("utf-8")


def lines_of(text):
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def differs(block, printed):
    """Tell whether something else was printed than a block says."""
    said, seen = "\n".join(lines_of(block["text"])), "\n".join(lines_of(printed))
    if block["kind"] == "output":
        return said != seen
    numbers = [[float(number) for number in NUMBER.findall(text)] for text in (said, seen)]
    # Columns are as wide as their numbers, so that only the words are compared.
    same_words = NUMBER.sub("0", said).split() == NUMBER.sub("0", seen).split()
    return not same_words or any(abs(a - b) > 0.05 + 0.1 * abs(a) for a, b in zip(*numbers, strict=True))
