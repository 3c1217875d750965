import os

import pytest

from kolmogorov._support.files import atomic_writer, check_writable, replacing_read_only, scratch_folder
from kolmogorov.errors import FileWriteError


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


def test_what_is_under_way_is_no_more_readable_than_what_it_replaces(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with atomic_writer(path):
        (part,) = tmp_path.glob(".model.*.part")
        assert part.stat().st_mode & 0o777 == 0o600


def test_a_new_file_has_the_permissions_of_new_files(tmp_path):
    write(tmp_path / "model")
    (tmp_path / "other").touch()
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "other").stat().st_mode


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


@pytest.mark.parametrize("kind", [atomic_writer, scratch_folder])
def test_nothing_is_left_of_what_failed(tmp_path, kind):
    path = tmp_path / "model"
    write(path, b"old")
    with pytest.raises(KeyError), kind(path):
        raise KeyError
    assert names(tmp_path) == ["model"]
    assert path.read_bytes() == b"old"


def test_two_writers_do_not_disturb_each_other(tmp_path):
    path = tmp_path / "model"
    with atomic_writer(path) as stream:
        stream.write(b"long")
        write(path, b"short")
        check_writable(path)
    assert path.read_bytes() == b"long"
    assert names(tmp_path) == ["model"]
