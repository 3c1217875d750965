"""Run the examples of pages, and put what they print and draw in its place: python docs/examples.py [page ...]."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from helpers.pages import blocks, differs, lines_of, pictures, played  # noqa: E402


def refreshed(path: Path) -> str:
    """Return a page with what its examples print now; its pictures are written into docs/images."""
    text, ends = path.read_text(encoding="utf-8"), []
    for block, printed in played(path):
        if differs(block, printed):
            ends.append((block.start("text"), block.end("text"), "\n".join([*lines_of(printed), ""])))
    for start, end, new in reversed(ends):
        text = text[:start] + new + text[end:]
    for name in pictures(path):
        shutil.copy(name, HERE / "images" / name)
    return text


def main() -> None:
    """Go through the pages named, or through all."""
    os.environ["MPLBACKEND"] = "Agg"
    (HERE / "images").mkdir(exist_ok=True)
    pages = [Path(name).resolve() for name in sys.argv[1:]] or [HERE.parent / "README.md", *sorted(HERE.glob("*.md"))]
    for path in pages:
        if blocks(path):
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                new = refreshed(path)
                os.chdir(HERE)
            if new != path.read_text(encoding="utf-8"):
                path.write_text(new, encoding="utf-8")
                sys.stdout.write(f"written: {path.name}\n")


if __name__ == "__main__":
    main()
