import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import kolmogorov as km
from kolmogorov._support.outside import check_writable, replacing, require, to_frame
from kolmogorov._support.seeds import base_seed, row_seeds
from kolmogorov.errors import FileWriteError, MissingExtraError, ParameterError


def loaded_by(statement):
    code = f"{statement}\nimport sys; print(' '.join(sys.modules))"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return set(output.split())


def test_importing_is_light():
    modules = loaded_by("import kolmogorov")
    assert not modules & {"sklearn", "pandas", "numba", "scipy", "numpy", "polars", "pyarrow", "rich"}
    assert not loaded_by("import kolmogorov.cli") & {"sklearn", "pandas", "numba", "scipy", "numpy"}


def test_the_core_works_where_no_other_data_frame_library_is():
    code = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in ('pandas', 'polars'): raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "import kolmogorov as km\n"
        "model = km.KolmogorovModel(2, learn_from='ratings', max_iter=2).fit(km.datasets.load('zoo'))\n"
        "print(model.recommend('bear', 3, exclude_seen=False)['item'][0], model.explain('bear', 'milk').probability)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout


def test_every_public_name_is_there():
    for name in km.__all__:
        assert getattr(km, name) is not None
    assert set(km.__all__) == set(dir(km))


def test_the_stub_names_what_the_module_has():
    """Type checkers read the stub, people the module."""
    import ast

    stub = ast.parse(Path(km.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    homes = {}
    for node in stub.body:
        if isinstance(node, ast.ImportFrom):
            homes |= {alias.asname: f"{node.module}.{alias.name}" for alias in node.names}
    assert {*homes, "__version__"} == set(km.__all__)
    for name, home in homes.items():
        module, _, attribute = home.rpartition(".")
        found = getattr(import_module(module), attribute, None) or import_module(home)
        assert getattr(km, name) is found
    with pytest.raises(AttributeError, match="no attribute 'Kolmogorow'"):
        km.Kolmogorow  # noqa: B018


def test_seeds():
    assert base_seed(5) == 5
    assert base_seed(np.int64(5)) == 5
    assert base_seed(np.random.RandomState(0)) == base_seed(np.random.RandomState(0))
    assert base_seed(np.random.default_rng(0)) == base_seed(np.random.default_rng(0))
    assert base_seed(None) != base_seed(None)
    for wrong in ("a", -1, True, 1.5):
        with pytest.raises(ParameterError, match="'random_state' must be"):
            base_seed(wrong)
    every = [row_seeds(s, w, d, np.arange(50)) for s in range(3) for w in range(3) for d in range(2)]
    assert np.unique(np.concatenate(every)).size == 50 * 18
    assert np.array_equal(row_seeds(1, 2, 0, np.arange(10))[4:6], row_seeds(1, 2, 0, np.arange(4, 6)))


def test_missing_extras_name_the_command(monkeypatch):
    import kolmogorov._support.outside as optional

    monkeypatch.setattr(optional, "installed", lambda module: False)
    with pytest.raises(MissingExtraError, match=r"Plots needs matplotlib. In the clone, run: pip install '.\[x\]'"):
        require("matplotlib", extra="x", purpose="Plots")
    with pytest.raises(MissingExtraError, match=r"pip install '.\[polars\]'"):
        to_frame({"a": [1]}, "polars")


#: A descent, and the default's two steps on a table that is small enough for chains without the compiler.
FITS = {
    "ratings": "km.KolmogorovModel(3, learn_from='ratings', max_iter=3, random_state=0, n_jobs=1)"
    ".fit(km.datasets.load('zoo'))",
    "draws": "km.KolmogorovModel(2, max_iter=3, random_state=0, n_jobs=1)"
    ".fit(km.datasets.planted(n_users=8, n_items=6, n_events=2, noise=0.2, random_state=0).observations)",
}


@pytest.mark.long("compilation")
@pytest.mark.parametrize("fit", FITS)
def test_without_the_compiler_the_answer_is_the_same(fit):
    code = f"import kolmogorov as km; m = {FITS[fit]}; print(repr(float(m.history_[-1].objective)))"
    results = [
        float(
            subprocess.run(
                [sys.executable, "-c", code], env={**os.environ, **extra}, capture_output=True, text=True, check=True
            ).stdout
        )
        for extra in ({}, {"NUMBA_DISABLE_JIT": "1"})
    ]
    assert results[0] == pytest.approx(results[1], rel=1e-12)


@pytest.mark.long("compilation")
def test_compilation_is_announced_once_and_cached(tmp_path):
    code = (
        "import logging; logging.basicConfig(level='INFO'); import kolmogorov as km;"
        "km.KolmogorovModel(2, learn_from='ratings', max_iter=1, random_state=0).fit(km.datasets.load('zoo'))"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    errors = [
        subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stderr
        for _ in range(2)
    ]
    assert errors[0].count("compiling numerical kernels") == 1
    assert "compiling" not in errors[1]


# --- files that are written whole --------------------------------------------------------------------------------


def write(path, content=b"new"):
    with replacing(path) as stream:
        stream.write(content)


def test_a_file_is_whole_or_as_it_was_and_as_private(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    path.chmod(0o600)

    def broken():
        with replacing(path) as stream:
            (part,) = tmp_path.glob(".model.*.part")
            assert part.stat().st_mode & 0o777 == 0o600
            stream.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        broken()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    write(path)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o600)


def test_what_cannot_be_written_is_not(tmp_path):
    kept, loop = tmp_path / "model", tmp_path / "loop"
    kept.write_bytes(b"old")
    kept.chmod(0o444)
    loop.symlink_to(loop)
    wrong = {kept: "it is read-only", tmp_path: "it is a directory", tmp_path / "no" / "model": "No such file"}
    for path, words in (wrong | {loop: "Too many levels of symbolic links"}).items():
        for attempt in (write, check_writable):
            with pytest.raises(FileWriteError, match=f"{path} cannot be written: {words}"):
                attempt(path)
    assert kept.read_bytes() == b"old"
    assert loop.is_symlink()
