"""Some hundred forged files of every kind, and proof that the attack would find a hole."""

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("resource", reason="limits on memory are read from /proc")

from helpers import attack
from helpers.forgery import forged
from kolmogorov.errors import InvariantError
from kolmogorov.fitted import point as parameters

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits on memory are read from /proc")


@pytest.mark.long("forged files")
@pytest.mark.parametrize("kind", attack.KINDS)
def test_forged_files_are_refused_or_whole(kind):
    tally, findings = attack.run(kind, 150, seed=1)
    assert not findings
    assert tally["refused"] > (50 if kind == "columns" else 100)
    assert tally["refused"] + tally["loaded"] == 150


@pytest.fixture
def honest(tmp_path, monkeypatch):
    monkeypatch.setattr("kolmogorov.sampling.checkpoint.ChainCheckpoint.pause", 0.0)
    return attack.corpus(tmp_path)


def test_a_hole_in_the_checks_would_be_found(honest, tmp_path, monkeypatch):
    def lie(meta, arrays):
        arrays["theta"].flat[0] = np.nan

    (tmp_path / "forged").write_bytes(forged(honest["models"][0], lie))
    assert attack.judge("models", tmp_path / "forged", tmp_path) == "refused"
    monkeypatch.setattr(parameters.Fitted, "validate_numbers", lambda self: None)
    with pytest.raises((AssertionError, InvariantError)):
        attack.judge("models", tmp_path / "forged", tmp_path)


def test_too_much_memory_would_be_found(honest, tmp_path):
    (tmp_path / "honest").write_bytes(honest["models"][0])
    with pytest.raises(MemoryError), attack.limited(tmp_path / "honest"):
        np.ones(2 * attack._ALLOWED // 8)


def test_a_file_that_keeps_its_user_waiting_would_be_found(monkeypatch):
    monkeypatch.setattr(attack, "PATIENCE", 0.05)
    command = [sys.executable, "-c", "import time; print('0 loaded', flush=True); time.sleep(600)"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert list(attack._lines(process)) == ["0 loaded"]
        assert process.poll() is None
        process.kill()


@pytest.mark.long("forged files")
def test_files_are_numbered_whoever_opens_them():
    """A finding can be made again alone: by its kind, its seed and its number."""
    whole, _ = attack.run("columns", 12, seed=2)
    parts = [attack.run("columns", 4, seed=2, first=first, processes=2)[0] for first in (0, 4, 8)]
    assert all(sum(part[outcome] for part in parts) == whole[outcome] for outcome in whole)
