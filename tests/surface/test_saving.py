"""Files of models: everything comes back, and what no model can be is refused."""

import io
import json
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.forgery import archived, forged, npy, parts_of
from kolmogorov import BayesianKolmogorovModel, KolmogorovModel, Observations, load
from kolmogorov.errors import FileFormatError, ParameterError
from kolmogorov.solvers import resolve


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    obs = Observations.from_arrays(["zoë", "b", "b"], [3, 4, 3], [5, 1, 2], maximum=5)
    obs = Observations(obs.users, obs.items.with_labels({"3": "Title\n\x1b[31m", "4": "<script>"}), obs.rows, obs.scale)
    model = KolmogorovModel(2, random_state=0, item_solver=resolve("binary", "local_search", n_starts=3)).fit(obs)
    path = tmp_path_factory.mktemp("saved") / "model.km"
    model.save(path)
    return model, path, path.read_bytes()


# --- what is written and read ----------------------------------------------------------------------------------------


def test_everything_comes_back(saved, tmp_path):
    model, path, content = saved
    back = load(path)
    for name in ("theta_", "psi_"):
        np.testing.assert_array_equal(getattr(back, name), getattr(model, name))
    assert back.psi_.dtype == bool
    assert back.items_.labels.tolist() == ["Title\n\x1b[31m", "<script>"]
    for name in (
        "users_",
        "items_",
        "scale_",
        "history_",
        "learned_from_",
        "item_solver",
        "n_events",
        "n_features_in_",
    ):
        assert getattr(back, name) == getattr(model, name), name
    assert back.predict("zoë", 4) == model.predict("zoë", 4)
    back.save(tmp_path / "again.km")
    assert (tmp_path / "again.km").read_bytes() == content
    stored = parts_of(content)[0]["parameters"]
    assert not {"callback", "checkpoint", "execution", "n_jobs", "random_state", "verbose"} & set(stored)
    with np.load(path, allow_pickle=False) as arrays, zipfile.ZipFile(path) as archive:
        assert json.loads(arrays["about"].tobytes())["kind"] == "KolmogorovModel"
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}


def test_string_ids_of_any_kind_survive(tmp_path):
    names = ["", "a" * 5000, "né", "x\ty", "٣"]
    obs = Observations.from_arrays(np.array(names, dtype=object), [1] * 5, [1, 0, 1, 0, 1])
    KolmogorovModel(1, random_state=0).fit(obs).save(tmp_path / "m.km")
    assert sorted(load(tmp_path / "m.km").users_.ids.tolist()) == sorted(names)


def test_a_failed_save_leaves_the_old_file(saved, tmp_path, monkeypatch):
    model, _, content = saved
    path = tmp_path / "model.km"
    path.write_bytes(content)

    def broken(stream, **arrays):
        stream.write(content[:100])
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", broken)
    with pytest.raises(KeyboardInterrupt):
        model.save(path)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


# --- files that are none, or others ----------------------------------------------------------------------------------


@given(st.data())
@settings(max_examples=150)
def test_a_changed_file_is_refused_or_says_the_same(saved, tmp_path_factory, data):
    """What lies between the arrays of an archive means nothing; the arrays have checksums."""
    content = saved[2]
    how = data.draw(st.sampled_from(["flip", "cut", "insert"]))
    place, changed = data.draw(st.integers(0, len(content) - 1)), bytearray(content)
    if how == "flip":
        changed[place] ^= data.draw(st.integers(1, 255))
    else:
        changed[place : len(content) if how == "cut" else place] = data.draw(st.binary(max_size=8 * (how == "insert")))
    path = tmp_path_factory.mktemp("changed") / "model.km"
    path.write_bytes(changed)
    try:
        model = load(path)
    except FileFormatError:
        return
    assert how != "cut"
    model.save(path)
    assert path.read_bytes() == content


def test_foreign_old_and_absent_files(saved, tmp_path, zoo):
    path = tmp_path / "x.km"
    for content in (b"", b"PK\x03\x04 a zip", b"KOLMO\r\n\x1a", saved[2][:20], saved[2][:-40], saved[2][:-1]):
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match="is damaged, cut short, or not a kolmogorov file"):
            load(path)
    for layout in (0, 4, 6, "x", None):
        path.write_bytes(forged(saved[2], lambda meta, arrays, layout=layout: meta.update(layout=layout)))
        with pytest.raises(FileFormatError, match=f"another version of kolmogorov: its layout is {layout}"):
            load(path)
    with pytest.raises(FileFormatError, match="There is no file"):
        load(tmp_path / "absent.km")
    with pytest.raises(FileFormatError, match="is no regular file"):
        load(tmp_path)
    KolmogorovModel(2, learn_from="ratings", random_state=0, checkpoint=tmp_path / "c", max_iter=1).fit(zoo)
    with pytest.raises(FileFormatError, match="holds a 'checkpoint', not a"):
        load(tmp_path / "c")


@pytest.mark.parametrize("path", [None, 0, 3, 1.5, ["model.km"]])
@pytest.mark.parametrize(("open_file", "error"), [(load, ParameterError), (Observations.open, FileFormatError)])
def test_what_names_no_file_is_refused(open_file, error, path):
    with pytest.raises(error):
        open_file(path)


# --- files that lie --------------------------------------------------------------------------------------------------


def _json(change):
    return lambda content: forged(content, change_json=change)


def _parameter(name, value):
    return _json(lambda f: f["parameters"].update({name: value}))


def _theta(member, **how):
    """Forge the part of an archive that holds theta: other bytes, none, or twice."""
    return lambda content: archived(content, "theta.npy", member, **how)


def _header(**lies):
    return _theta(lambda data: [npy(np.lib.format.read_array(io.BytesIO(data)), **lies)])


def _directory(change):
    """Forge what the end of an archive says of its first part."""

    def lie(content):
        content = bytearray(content)
        change(content, content.index(b"PK\1\2"))
        return bytes(content)

    return lie


def _sizes(content, entry, size):
    content[entry + 20 : entry + 28] = 2 * size.to_bytes(4, "little")


def _flag(content, entry):
    content[entry + 8] |= 1


def _many(content, entry):
    directory = content[entry:-22] * 100
    count = 100 * int.from_bytes(content[-12:-10], "little")
    sizes = 2 * count.to_bytes(2, "little") + len(directory).to_bytes(4, "little")
    content[entry:-10] = directory + content[-22:-14] + sizes


def _nested(depth):
    found = {}
    for _ in range(depth):
        found = {"options": found}
    return found


FORGERIES = {
    "another kind": _json(lambda f: f.update(kind="Other")),
    "no kind": _json(lambda f: f.pop("kind")),
    "no parameters": _json(lambda f: f.pop("parameters")),
    "a strange parameter": _parameter("os", "rm"),
    "a parameter of a run": _parameter("checkpoint", "taken.ckpt"),
    "other events": _parameter("n_events", 10**9),
    "a solver from elsewhere": _parameter("item_solver", {"solver": "os.system", "options": {}}),
    "endless sweeps": _parameter("max_iter", 2**62),
    "endless starts": _parameter("n_init", 10**9),
    "a large number": _parameter("tol", 10**400),
    "an endless solver": _parameter(
        "user_solver", {"family": "simplex", "solver": "pairwise", "options": {"max_iter": 2**62}}
    ),
    "half a character": _parameter("item_solver", "\ud800"),
    "a deep parameter": _parameter("item_solver", _nested(300)),
    "a scale upside down": _json(lambda f: f.update(scale={"minimum": 1, "maximum": 0})),
    "a strange source": _json(lambda f: f.update(source=[])),
    "fewer than no changes": _json(lambda f: f.update(n_changed=-1)),
    "deep lists": _json(lambda f: b"[" * 100_000),
    "nothing": _json(lambda f: b""),
    "no text": _json(lambda f: b"\xff\xfe"),
    "no number": _json(lambda f: json.dumps(f).encode().replace(b'"n_events": 2', b'"n_events": NaN')),
    "no finite number": _json(lambda f: json.dumps(f).encode().replace(b'"tol": 0.0001', b'"tol": 1e999')),
    "blanks": _json(lambda f: b" " * (5 << 20) + json.dumps(f).encode()),
    "compressed": _theta(lambda data: [data], compression=zipfile.ZIP_DEFLATED),
    "there twice": _theta(lambda data: [data, data]),
    "absent": _theta(lambda data: []),
    "without an ending": _theta(lambda data: [data], name="theta"),
    "outside the archive": _theta(lambda data: [data], name="/etc/theta.npy"),
    "shorter": _theta(lambda data: [data[:-1]]),
    "empty": _theta(lambda data: [b""]),
    "no array": _theta(lambda data: [b"import os" * 30]),
    "a large array": _header(shape=(2**40, 2)),
    "an array larger than addresses": _header(shape=(2**62, 2**62)),
    "of other sizes": _header(shape=(4, 1)),
    "columns first": _header(fortran_order=True),
    "pickled objects": _header(descr="|O"),
    "big-endian": _header(descr=">f8"),
    "a header that computes": _theta(lambda data: [data.replace(b"(2, 2)", b"(1+1,2)")]),
    "a size that is not": _directory(lambda content, entry: _sizes(content, entry, 10**6)),
    "a size beyond files": _directory(lambda content, entry: _sizes(content, entry, 2**32 - 2)),
    "encrypted": _directory(_flag),
    "a long directory": _directory(_many),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_what_no_model_has_is_refused(saved, tmp_path, name):
    (tmp_path / "forged.km").write_bytes(FORGERIES[name](saved[2]))
    with pytest.raises(FileFormatError):
        load(tmp_path / "forged.km")


def _set(name, value):
    def change(meta, arrays):
        arrays[name] = value(arrays[name])

    return change


def _first(number):
    def value(array):
        array.flat[0] = number
        return array

    return value


#: Passes a test by differences, which overflow.
_WRAPPED = np.array([0, 2**63 - 1, -(2**63)], dtype=np.int64)
#: What a file may say that is not true of any model.
LIES = {
    "theta with NaN": _set("theta", _first(np.nan)),
    "theta off the simplex": _set("theta", lambda a: a + 0.1),
    "theta of other numbers": _set("theta", lambda a: a.astype(np.float32)),
    "a centre off the simplex": _set("user_centre", lambda a: a + 0.1),
    "a centre of more events": _set("user_centre", lambda a: np.ones(3) / 3),
    "a centre with NaN": _set("item_centre", _first(np.nan)),
    "a centre without end": _set("item_centre", lambda a: a + 1e308),
    "chances where two levels were asked for": _set("psi", lambda a: np.full((2, 2), 0.5)),
    "two levels where chances were asked for": (
        lambda meta, arrays: meta["parameters"].update(psi="soft", item_solver="auto")
    ),
    "bits that are none": _set("psi", lambda a: np.full((2, 2), 2, dtype=np.uint8)),
    "bits of more events": _set("psi", lambda a: np.zeros((2, 3), dtype=np.uint8)),
    "a history with NaN": _set("history", _first(np.nan)),
    "a pull one way only": _set("user_pull", lambda a: a + np.triu(np.ones_like(a), 1)),
    "a pull that pushes": _set("user_pull", lambda a: a - 1e3 * np.eye(len(a))),
    "a pull that pushes a little": _set("item_pull", lambda a: -1e-320 * np.eye(len(a))),
    "a pull without end": _set("item_pull", lambda a: a + 1e308),
    "no noise": _set("noise", lambda a: 0 * a),
    "noise without end": _set("noise", lambda a: a + np.inf),
    "noise of one user only": _set("noise", lambda a: a[:1].copy()),
    "learned from a list": lambda meta, arrays: meta.update(learned_from=["draws"]),
    "learned from nothing": lambda meta, arrays: meta.pop("learned_from"),
    "rows that wrap": _set("seen_indptr", lambda a: _WRAPPED),
    "rows that fall": _set("seen_indptr", lambda a: np.array([0, 4, 3], dtype=np.int64)),
    "an item beyond the table": _set("seen_items", lambda a: np.array([0, 1, 2], dtype=np.int32)),
    "a pair twice": _set("seen_items", lambda a: np.array([1, 0, 0], dtype=np.int32)),
    "an item before the first": _set("seen_items", lambda a: np.array([-1, 0, 0], dtype=np.int32)),
    "a value with NaN": _set("seen_levels", _first(np.nan)),
    "a value beyond the scale": _set("seen_levels", _first(1.5)),
    "a code of no value": _set("seen_codes", _first(200)),
    "a code below 0": _set("seen_codes", lambda a: np.full(3, -1, dtype=np.int32)),
    "too few ids": _set("items_ids_ends", lambda a: a[:1].copy()),
    "ids that are no text": _set("users_ids_bytes", lambda a: np.full_like(a, 255)),
    "ids that are alike": _set("items_ids_bytes", lambda a: np.full_like(a, 51)),
    "ids beyond the bytes": _set("users_ids_ends", lambda a: a + 1),
    "too few titles": _set("items_labels_ends", lambda a: a[:1].copy()),
    "one array more": lambda meta, arrays: arrays.update(x=np.zeros(3)),
    "arrays exchanged": lambda meta, arrays: arrays.update(theta=arrays["user_pull"], user_pull=arrays["theta"]),
}


@pytest.mark.parametrize("name", LIES)
def test_a_model_that_lies_of_itself_is_refused(saved, tmp_path, name):
    # A file that is only put together again loads; otherwise these forgeries would prove nothing.
    (tmp_path / "same.km").write_bytes(forged(saved[2], lambda meta, arrays: None))
    assert load(tmp_path / "same.km").predict("b", 4) == saved[0].predict("b", 4)
    (tmp_path / "forged.km").write_bytes(forged(saved[2], LIES[name]))
    with pytest.raises(FileFormatError, match="malformed"):
        load(tmp_path / "forged.km")


@pytest.mark.parametrize(
    "change",
    [
        _set("current_theta", lambda a: a[:5].copy()),
        _set("current_theta", lambda a: a.astype(np.int64)),
        _set("current_history", lambda a: np.where(np.arange(a.shape[1]) == 2, 1e200, a)),
        lambda meta, arrays: arrays.pop("current_theta"),
        _set("place", lambda a: a + np.array([0, 7])),
        _set("place", lambda a: -1 - a),
    ],
)
def test_a_hostile_checkpoint_is_refused(tmp_path, zoo, change):
    """Compiled code relies on the shapes of what a checkpoint holds, and the fit on its numbers."""
    path = tmp_path / "fit.ckpt"
    KolmogorovModel(3, learn_from="ratings", random_state=0, max_iter=3, checkpoint=path).fit(zoo)
    path.write_bytes(forged(path.read_bytes(), change))
    with pytest.raises(FileFormatError, match="malformed"):
        KolmogorovModel(3, learn_from="ratings", random_state=0, max_iter=6, checkpoint=path).fit(zoo)


@pytest.mark.parametrize(("name", "size"), [("prior_concentration", 1e308), ("noise", 1e38), ("noise", 1e-38)])
def test_priors_and_noise_that_overflow_are_refused(tmp_path, name, size):
    stars = Observations.from_arrays([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [1, 5, 2, 4, 3, 3], maximum=5)
    BayesianKolmogorovModel(2, n_chains=1, burn_in=2, n_samples=2, random_state=0).fit(stars).save(tmp_path / "m")
    content = forged((tmp_path / "m").read_bytes(), lambda meta, arrays: arrays[name].fill(size))
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(FileFormatError, match="holds a number outside"):
        load(tmp_path / "m")
