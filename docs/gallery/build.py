"""Execute the scripts of the gallery and write their parts of its page: python docs/gallery/build.py [name ...].

A script begins with a docstring: a title, and what the reader will see. `# %%` begins a cell: comments are prose in
Markdown, what follows them is code. A page shows what a cell prints, and the matplotlib figures it leaves open;
`# picture: words` says what they show. `# gallery: needs NAME` names a dataset without which there is nothing to do,
and `# gallery: within 0.1` says how far numbers may differ on another machine, where chains of draws decide them.
"""

import ast
import contextlib
import io
import re
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from PIL import Image

mpl.use("Agg")
HERE = Path(__file__).resolve().parent
#: The scripts in the order of the page.
PAGES = ("food", "digits", "movielens")
_CELL = re.compile(r"^# %%.*\n", re.MULTILINE)
_PICTURE = re.compile(r"^# picture: (.*)\n?", re.MULTILINE)
_SETTING = re.compile(r"^# gallery: (\w+) (\S+)\n", re.MULTILINE)
_PART = "<!-- gallery: {name} -->\n{text}<!-- end of {name} -->\n"
_FIRST = """# Gallery

What models say about tables of many kinds. Every part is a script that was executed:
output and pictures are its own (`make gallery`; a test executes the scripts and compares).
"""


@dataclass(frozen=True)
class Script:
    """A script of the gallery, taken apart.

    Attributes
    ----------
    name, title, introduction : str
    cells : list of (str, str, int)
        Prose, code, and the number of lines before the code.
    settings : dict
        What `# gallery:` lines say.
    """

    name: str
    title: str
    introduction: str
    cells: list[tuple[str, str, int]]
    settings: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, name: str) -> "Script":
        """Take a script apart."""
        text = (HERE / f"{name}.py").read_text(encoding="utf-8")
        title, _, introduction = (ast.get_docstring(ast.parse(text)) or "").partition("\n\n")
        starts = [found.end() for found in _CELL.finditer(text)]
        ends = [*(found.start() for found in _CELL.finditer(text)), len(text)][1:]
        cells = [_parted(text, start, end) for start, end in zip(starts, ends, strict=True)]
        return cls(name, title, introduction, cells, dict(_SETTING.findall(text)))


@dataclass
class Page:
    """What comes of a script: the text, and its pictures by file name."""

    text: str
    pictures: dict[str, bytes] = field(default_factory=dict)

    def write(self, folder: Path, name: str) -> None:
        """Write the pictures; those that it has no more are removed."""
        for old in folder.glob(f"{name}-*.png"):
            if old.name not in self.pictures:
                old.unlink()
        for file, content in self.pictures.items():
            (folder / file).write_bytes(content)


def execute(name: str) -> Page:
    """Run a script in an empty folder and return its part of the page."""
    script = Script.read(name)
    page = Page(f"## {script.title}\n\n{script.introduction}\n")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    plt.close("all")  # what others left open is no picture of this page
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), mpl.rc_context({"figure.dpi": 90}):
        for prose, code, before in script.cells:
            said, caption = io.StringIO(), "; ".join(_PICTURE.findall(code)) or script.title
            with contextlib.redirect_stdout(said):
                # Tracebacks and warnings name the lines of the script.
                exec(compile("\n" * before + code, str(HERE / f"{name}.py"), "exec"), namespace)
            code = _PICTURE.sub("", code).strip("\n")
            page.text += f"\n{prose}\n\n```python\n{code}\n```\n" if code else f"\n{prose}\n"
            if said.getvalue():
                page.text += f"\n```output\n{_trimmed(said.getvalue())}\n```\n"
            for number in plt.get_fignums():
                file = f"{name}-{len(page.pictures) + 1}.png"
                page.pictures[file] = _drawn(plt.figure(number))
                page.text += f"\n![{caption}]({file})\n"
            plt.close("all")
    page.text += f"\nThe script is `docs/gallery/{name}.py`.\n"
    return page


def committed(name: str) -> str:
    """Return the part of a script as the page has it now; nothing if it has none."""
    path = HERE / "index.md"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    found = re.search(f"<!-- gallery: {name} -->\n(.*?)<!-- end of {name} -->", text, re.DOTALL)
    return found[1] if found else ""


def joined(parts: dict[str, str]) -> str:
    """Return the page, of the parts of all scripts."""
    return "\n".join([_FIRST, *(_PART.format(name=name, text=parts[name]) for name in PAGES)])


def missing(script: Script) -> str:
    """Say why a script cannot be executed here; nothing if it can."""
    from kolmogorov.data.datasets import data_directories

    needed = script.settings.get("needs")
    if needed is None or any((folder / needed).is_dir() for folder in data_directories()):
        return ""
    return f"MovieLens is not here: set KOLMOGOROV_DATA to the folder that holds {needed}"


def _parted(text: str, start: int, stop: int) -> tuple[str, str, int]:
    """Part the comments that a cell begins with from its code."""
    lines = text[start:stop].splitlines()
    end = next((k for k, line in enumerate(lines) if not line.startswith("#") or _PICTURE.match(line)), len(lines))
    prose = "\n".join(line.removeprefix("#").removeprefix(" ") for line in lines[:end])
    return prose, "\n".join(lines[end:]), text.count("\n", 0, start) + end


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def _drawn(figure: Any) -> bytes:
    """Return a figure as a PNG of few colours: a fifth of the size, and no eye sees it."""
    whole, small = io.BytesIO(), io.BytesIO()
    figure.savefig(whole, format="png", metadata={"Software": None})
    with Image.open(whole) as image:
        image.convert("RGB").quantize(128).save(small, format="png", optimize=True)
    return small.getvalue()


def main() -> None:
    """Write the parts that are named, or all."""
    parts = {name: committed(name) for name in PAGES}
    for name in sys.argv[1:] or PAGES:
        if reason := missing(Script.read(name)):
            sys.stderr.write(f"{name}: left as it is. {reason}\n")
        else:
            page = execute(name)
            page.write(HERE, name)
            parts[name] = page.text
            sys.stderr.write(f"{name}\n")
    (HERE / "index.md").write_text(joined(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
