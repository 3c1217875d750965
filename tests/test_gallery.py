"""The gallery is what its scripts say today: their words, their numbers, their pictures."""

import importlib.util
import io
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from golden import store

pytest.importorskip("matplotlib", reason="the gallery draws with the extra 'plot'")
from PIL import Image

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "gallery"
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
#: How far a number may differ from the page's, relative to 1 or to itself: machines round differently.
WITHIN = 0.01
#: Share of a picture's pixels that may look different.
DIFFERENT = 0.03


def loaded():
    spec = importlib.util.spec_from_file_location("gallery_build", FOLDER / "build.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


build = loaded()


@pytest.mark.long("pages of the docs")
@pytest.mark.parametrize("name", build.PAGES)
def test_a_part_is_what_its_script_says(name, request):
    """If not: make gallery.

    Where chains of draws decide, another kind of processor that rounds otherwise may find other words, and other bars
    in a picture: there it is compared that the script runs, and draws as many.
    """
    script = build.Script.read(name)
    if "needs" in script.settings:
        request.getfixturevalue("data_directory")
    page = build.execute(name)
    assert set(page.pictures) == {path.name for path in FOLDER.glob(f"{name}-*.png")}
    if "within" in script.settings and store.stored_elsewhere():
        return
    assert differences(build.committed(name), page.text, float(script.settings.get("within", WITHIN))) == []
    for file, content in page.pictures.items():
        assert looks_different(FOLDER / file, io.BytesIO(content)) < DIFFERENT, file


def test_the_page_has_every_script():
    parts = {name: build.committed(name) for name in build.PAGES}
    assert all(parts.values())
    assert (FOLDER / "index.md").read_text(encoding="utf-8") == build.joined(parts)
    assert {path.stem for path in FOLDER.glob("*.py")} == {*build.PAGES, "build"}


def differences(committed, made, within):
    """Return the lines that differ in words, or in a number by more than `within`, relative to 1 or to itself."""
    one, other = committed.splitlines(), made.splitlines()
    rest = max(len(one), len(other))
    pairs = zip(one + [""] * (rest - len(one)), other + [""] * (rest - len(other)), strict=True)
    return [pair for pair in pairs if not alike(*pair, within)]


def alike(one, other, within):
    if [NUMBER.sub("#", word) for word in one.split()] != [NUMBER.sub("#", word) for word in other.split()]:
        return False
    numbers = ([float(found.replace(",", "")) for found in NUMBER.findall(line)] for line in (one, other))
    return all(abs(a - b) <= within * max(1.0, abs(a)) for a, b in zip(*numbers, strict=True))


def looks_different(one, other):
    pixels = [np.asarray(Image.open(source).convert("L"), dtype=float) for source in (one, other)]
    if pixels[0].shape != pixels[1].shape:
        return 1.0
    return (np.abs(pixels[0] - pixels[1]) > 64).mean()
