import os
import re
import subprocess
import sys
import time

import pytest

from kolmogorov._support import files
from kolmogorov._support.files import (
    atomic_writer,
    check_writable,
    clean_folder,
    replacing_read_only,
    scratch_folder,
)
from kolmogorov.errors import FileWriteError

WEEK = 8 * 24 * 3600


def write(path, content=b"new"):
    with atomic_writer(path) as stream:
        stream.write(content)


def names(folder):
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o777])
def test_permissions_go_over(tmp_path, mode):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    path.chmod(mode)
    before = path.stat()
    write(path)
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode == before.st_mode
    assert (path.stat().st_uid, path.stat().st_gid) == (before.st_uid, before.st_gid)


def test_what_is_under_way_is_no_more_readable_than_what_it_replaces(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with atomic_writer(path):
        (part,) = tmp_path.glob(".model.*.part")
        assert part.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only an administrator can give files away")
def test_the_owner_stays(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    os.chown(path, 12345, 23456)
    path.chmod(0o660)
    write(path)
    assert (path.stat().st_uid, path.stat().st_gid, path.stat().st_mode & 0o777) == (12345, 23456, 0o660)


def test_another_group_gets_no_more_than_everybody(tmp_path, monkeypatch):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    path.chmod(0o664)
    there = os.stat(path)
    fake = os.stat_result((*there[:4], there.st_uid + 1, there.st_gid + 1, *there[6:]))

    def refuse(*arguments):
        raise PermissionError

    monkeypatch.setattr(os, "fchown", refuse)
    with open(tmp_path / "new", "wb") as stream:
        files._hand_over(stream.fileno(), fake)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o644


def test_a_read_only_file_is_not_replaced(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    path.chmod(0o444)
    for attempt in (write, check_writable):
        with pytest.raises(FileWriteError, match="is read-only. Make it writable, or choose another name"):
            attempt(path)
    assert path.read_bytes() == b"old"
    with replacing_read_only():
        write(path)
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o444


def test_paths_that_are_none(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for attempt in (write, check_writable):
        with pytest.raises(FileWriteError, match="cannot be written: Too many levels of symbolic links"):
            attempt(loop)
        with pytest.raises(FileWriteError, match="NUL"):
            attempt("a\0b")
    assert loop.is_symlink()


def test_long_names(tmp_path):
    path = tmp_path / ("n" * 250)
    write(path)
    assert names(tmp_path) == [path.name]


def leave(path, kind):
    """Be killed while writing."""
    code = (
        "import os, sys\nfrom kolmogorov._support.files import atomic_writer, scratch_folder\n"
        f"with {kind}(sys.argv[1]) as thing:\n"
        "    open(thing / 'records', 'w').close() if hasattr(thing, 'name') and hasattr(thing, 'parent') else None\n"
        "    os._exit(9)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == 9


@pytest.mark.parametrize("kind", ["atomic_writer", "scratch_folder"])
def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path, kind):
    path, other = tmp_path / "model", tmp_path / "model.b"
    leave(path, kind)
    leave(other, kind)
    assert len(names(tmp_path)) == 2
    write(path)
    assert [name.startswith(".model.b.") for name in names(tmp_path)] == [True, False]
    removed, kept = clean_folder(tmp_path)
    assert len(removed) == 1
    assert not kept
    assert names(tmp_path) == ["model"]


def test_what_is_still_written_is_left_alone(tmp_path):
    path = tmp_path / "model"
    with atomic_writer(path) as stream, scratch_folder(path) as folder:
        stream.write(b"long")
        for old in tmp_path.iterdir():
            os.utime(old, (0, 0))
        write(path, b"short")
        check_writable(path)
        assert clean_folder(tmp_path)[0] == []
        assert folder.exists()
    assert path.read_bytes() == b"long"
    assert names(tmp_path) == ["model"]


def test_leftovers_of_other_machines_wait_a_week(tmp_path, monkeypatch):
    path = tmp_path / "model"
    leave(path, "atomic_writer")
    monkeypatch.setattr(files, "_machine", lambda: "0" * 8)
    assert clean_folder(tmp_path)[0] == []
    (part,) = tmp_path.iterdir()
    os.utime(part, (time.time() - WEEK,) * 2)
    assert clean_folder(tmp_path)[0] == [part]


def test_without_locks_age_decides(tmp_path, monkeypatch):
    leave(tmp_path / "model", "scratch_folder")
    (folder,) = tmp_path.iterdir()
    monkeypatch.setattr(files, "_try_lock", lambda descriptor: None)
    os.utime(folder, (0, 0))
    assert clean_folder(tmp_path) == ([], [folder])  # a file in it is young
    os.utime(folder / "records", (0, 0))
    assert clean_folder(tmp_path) == ([folder], [])


def test_nothing_else_is_removed(tmp_path):
    mark = files._mark()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / f".model.{mark}.part").symlink_to(outside / "kept")
    (folder / f".model.packing-{mark}").symlink_to(outside)
    (folder / f".other.{mark}.part").mkdir()
    (folder / f".other.packing-{mark}").write_text("x")
    os.mkfifo(folder / f".pipe.{mark}.part")
    strange = [
        "model",
        f"model.{mark}.part",
        f".model.{mark}.parts",
        f".model.{mark[:-1]}.part",
        f".model.{mark.upper()}A.part",
        f".{mark}.part",
        f".model.{mark}",
        ".model.part",
        f".model.packing-{mark}.txt",
    ]
    for name in strange:
        (folder / name).write_text("x")
        os.utime(folder / name, (0, 0))
    before = names(folder)
    clean_folder(folder)
    write(tmp_path / "folder" / "model")
    assert names(folder) == before
    assert (outside / "kept").exists()
    deep = folder / "deep"
    deep.mkdir()
    leave(deep / "model", "atomic_writer")
    assert clean_folder(folder)[0] == []


def test_a_folder_with_links_in_it_is_removed_and_not_followed(tmp_path):
    outside = tmp_path / "kept"
    outside.write_text("x")
    folder = tmp_path / "here"
    folder.mkdir()
    leave(folder / "t", "scratch_folder")
    (scratch,) = folder.iterdir()
    (scratch / "link").symlink_to(outside)
    (scratch / "parent").symlink_to(tmp_path)
    assert clean_folder(folder)[0] == [scratch]
    assert outside.exists()


def test_names_say_what_they_are(tmp_path):
    with scratch_folder(tmp_path / "t.kmt") as folder, atomic_writer(tmp_path / "t.kmt"):
        assert re.fullmatch(r"\.t\.kmt\.packing-[0-9a-f]{20}", folder.name)
        assert any(re.fullmatch(r"\.t\.kmt\.[0-9a-f]{20}\.part", name) for name in names(tmp_path))
