"""Nothing moves: fits, predictions, rules, explanations and readings are those that were stored (golden/store.py)."""

import json

import pytest

from golden import fits, readings, store

STORED = json.loads((store.HERE / "fits.json").read_text("utf-8"))
READ = json.loads((store.HERE / "readings.json").read_text("utf-8"))
FITS = fits.fits()
#: The others are long.
QUICK = ("zoo", "food")
#: How far another kind of processor may be away. Soft psis of this survey are hardly determined, and amplify rounding.
WITHIN = {"food: default, soft": 1e-6}


@pytest.mark.filterwarnings("ignore::kolmogorov.errors.KolmogorovWarning")
@pytest.mark.parametrize(
    "name",
    [name if name.startswith(QUICK) else pytest.param(name, marks=pytest.mark.long("goldens")) for name in FITS],
)
def test_fits_are_those_that_were_stored(name, request):
    if name.startswith("ml-100k"):
        request.getfixturevalue("data_directory")
    found = store.summary(fits.made(*FITS[name]))
    assert not store.differences(STORED[name], found, not store.stored_elsewhere(), WITHIN.get(name, 1e-9))


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    return json.loads(json.dumps(readings.all_read(tmp_path_factory.mktemp("files"))))


@pytest.mark.parametrize("name", READ["files"])
def test_files_are_read_as_they_were(name, read):
    assert read["files"][name] == READ["files"][name]


@pytest.mark.parametrize("name", READ["broken"])
def test_broken_files_are_refused_with_their_line(name, read):
    assert READ["broken"][name] is not None
    assert read["broken"][name] == READ["broken"][name]


def test_every_golden_is_made():
    assert READ["files"].keys() == readings.FILES.keys() | readings.sources().keys()
    assert READ["broken"].keys() == readings.BROKEN.keys()
    assert STORED.keys() == FITS.keys() | {"processor"}


def test_what_moves_is_noticed():
    stored = store.summary({"a": [0.1, 0.2]})
    assert store.differences(stored, store.summary({"a": [0.1, 0.2 + 1e-12]}), exact=True)
    assert not store.differences(stored, store.summary({"a": [0.1, 0.2 + 1e-12]}), exact=False)
    assert store.differences(stored, store.summary({"a": [0.1, 0.2 + 1e-6]}), exact=False)
    assert store.differences(stored, store.summary({"a": [0.1]}), exact=False)
