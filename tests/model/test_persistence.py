import hashlib
import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kolmogorov import KolmogorovModel, Observations, datasets, load
from kolmogorov.errors import FileFormatError
from kolmogorov.model import archive
from kolmogorov.solvers import resolve


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    obs = Observations.from_arrays(["zoë", "b", "b"], [3, 4, 3], [5, 1, 2], maximum=5)
    obs = Observations(obs.users, obs.items.with_labels({3: "Title\n\x1b[31m", 4: "<script>"}), obs.rows, obs.scale)
    model = KolmogorovModel(2, random_state=0, binary_solver=resolve("binary", "local_search", n_starts=3)).fit(obs)
    path = tmp_path_factory.mktemp("saved") / "model.km"
    model.save(path)
    return model, path, path.read_bytes()


def test_everything_comes_back(saved):
    model, path, _ = saved
    back = load(path)
    assert np.array_equal(back.theta_, model.theta_)
    assert np.array_equal(back.psi_, model.psi_)
    assert back.psi_.dtype == bool
    assert back.users_.ids.tolist() == model.users_.ids.tolist()
    assert back.items_.ids.tolist() == [3, 4]
    assert back.items_.labels.tolist() == ["Title\n\x1b[31m", "<script>"]
    assert back.scale_ == model.scale_
    assert back.history_ == model.history_
    assert back.binary_solver == model.binary_solver
    assert back.get_params()["n_events"] == 2
    assert back.predict("zoë", 4) == model.predict("zoë", 4)
    assert back.recommendations("b", exclude_seen=False)["item"].tolist()
    assert back.n_features_in_ == 2


@given(st.data())
@settings(max_examples=150)
def test_a_changed_file_is_refused(saved, tmp_path_factory, data):
    _, _, content = saved
    changed = bytearray(content)
    how = data.draw(st.sampled_from(["flip", "cut", "insert", "append"]))
    place = data.draw(st.integers(0, len(content) - 1))
    if how == "flip":
        changed[place] ^= data.draw(st.integers(1, 255))
    elif how == "cut":
        del changed[place:]
    elif how == "insert":
        changed[place:place] = data.draw(st.binary(min_size=1, max_size=8))
    else:
        changed += data.draw(st.binary(min_size=1, max_size=8))
    if bytes(changed) == content:
        return
    path = tmp_path_factory.mktemp("changed") / "model.km"
    path.write_bytes(changed)
    with pytest.raises(FileFormatError):
        load(path)


def rebuilt(content, change):
    """Change the header of a file and give it a right checksum again, as an attacker would."""
    prefix = struct.Struct("<8sIQ")
    magic, version, length = prefix.unpack_from(content)
    header = json.loads(content[prefix.size : prefix.size + length])
    body = content[prefix.size + length : -32]
    header = change(header) or header
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    whole = prefix.pack(magic, version, len(text)) + text + body
    return whole + hashlib.sha256(whole).digest()


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h.update(kind="Other"),
        lambda h: h.pop("meta"),
        lambda h: h.update(arrays="no"),
        lambda h: h["arrays"].pop(),
        lambda h: h["arrays"].append({"name": "x", "dtype": "float64", "shape": [10**9]}),
        lambda h: h["arrays"][0].update(dtype="object"),
        lambda h: h["arrays"][0].update(shape=[-1, 2]),
        lambda h: h["arrays"][0].update(shape=[2**40, 2**40]),
        lambda h: h["meta"]["parameters"].update(os="rm"),
        lambda h: h["meta"]["parameters"].update(binary_solver={"solver": "os.system", "options": {}}),
        lambda h: h["meta"].update(n_events=-1),
        lambda h: h["meta"].update(n_events="two"),
        lambda h: h["meta"].update(scale={"minimum": 1, "maximum": 0}),
        lambda h: h["meta"].update(history=[{"sweep": 1}]),
        lambda h: h["meta"].pop("parameters"),
        lambda h: b"[" * 100_000,
        lambda h: b"[]",
        lambda h: b"\xff\xfe",
    ],
)
def test_a_forged_file_with_a_right_checksum_is_refused(saved, tmp_path, change):
    path = tmp_path / "forged.km"
    path.write_bytes(rebuilt(saved[2], change))
    with pytest.raises(FileFormatError):
        load(path)


def test_foreign_old_and_absent_files(saved, tmp_path):
    path = tmp_path / "x.km"
    for content, message in (
        (b"", "is not a kolmogorov file"),
        (b"PK\x03\x04 a zip", "is not a kolmogorov file"),
        (saved[2][:20], "cut short"),
        (saved[2][:-40], "damaged"),
        (saved[2].replace(b"\r\n", b"\n", 1), "damaged"),
    ):
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match=message):
            load(path)
    newer = bytearray(saved[2][:-32])
    newer[8] = 9
    path.write_bytes(bytes(newer) + hashlib.sha256(newer).digest())
    with pytest.raises(FileFormatError, match="layout version 9, this release reads version 2. Update"):
        load(path)
    with pytest.raises(FileFormatError, match="There is no file"):
        load(tmp_path / "absent.km")
    with pytest.raises(FileFormatError, match="cannot be read"):
        load(tmp_path)


def test_a_checkpoint_is_not_a_model(tmp_path, zoo):
    KolmogorovModel(2, random_state=0, checkpoint=tmp_path / "c", max_iter=1).fit(zoo)
    with pytest.raises(FileFormatError, match="holds a 'checkpoint', not a"):
        load(tmp_path / "c")


def test_a_failed_save_leaves_the_old_file(saved, tmp_path, monkeypatch):
    model, _, content = saved
    path = tmp_path / "model.km"
    path.write_bytes(content)

    class BrokenError(Exception):
        pass

    class Digest:
        def update(self, block):
            raise BrokenError

    monkeypatch.setattr(archive.hashlib, "sha256", Digest)
    with pytest.raises(BrokenError):
        model.save(path)
    monkeypatch.undo()
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_string_ids_of_any_kind_survive(tmp_path):
    names = ["", "a" * 5000, "né", "\ud800", "x\ty", "٣"]
    obs = Observations.from_arrays(np.array(names, dtype=object), [1] * 6, [1, 0] * 3)
    KolmogorovModel(1, random_state=0).fit(obs).save(tmp_path / "m.km")
    assert sorted(load(tmp_path / "m.km").users_.ids.tolist()) == sorted(names)


def test_the_archive_alone(tmp_path):
    arrays = {"a": np.arange(6, dtype=np.int32).reshape(2, 3), "empty": np.empty((0, 4)), "b": np.array([1.5])}
    archive.write(tmp_path / "f", "test", {"x": 1}, arrays)
    _, meta, back = archive.read(tmp_path / "f", ("test",))
    assert meta == {"x": 1}
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        assert np.array_equal(back[name], array)


def test_planted_round_trip_of_a_larger_model(tmp_path):
    model = KolmogorovModel(9, random_state=0, max_iter=3).fit(datasets.load("planted"))
    model.save(tmp_path / "m.km")
    assert np.array_equal(
        load(tmp_path / "m.km").predict(datasets.load("planted")), model.predict(datasets.load("planted"))
    )


@pytest.mark.parametrize("change", ["short", "narrow", "type", "missing"])
def test_a_hostile_checkpoint_is_refused(tmp_path, zoo, change):
    """Compiled code relies on the shapes of what a checkpoint holds."""
    from kolmogorov.model import archive, checkpoint

    path = tmp_path / "fit.ckpt"
    model = KolmogorovModel(3, random_state=0, max_iter=3, checkpoint=path)
    model.fit(zoo)
    _, meta, arrays = archive.read(path, (checkpoint.KIND,))
    if change == "missing":
        meta["runs"] = {}
    else:
        theta = arrays["current_theta"]
        wrong = {"short": theta[:5], "narrow": theta[:, :2], "type": theta.astype(np.int64)}[change]
        arrays["current_theta"] = np.ascontiguousarray(wrong)
    archive.write(path, checkpoint.KIND, meta, arrays)
    with pytest.raises(FileFormatError, match="malformed"):
        KolmogorovModel(3, random_state=0, max_iter=6, checkpoint=path).fit(zoo)
