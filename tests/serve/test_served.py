"""The model that is served, and what is in the place of its file; without any server."""

import os
import socket

import pytest

from kolmogorov.errors import DataError, ExecutionError
from kolmogorov.serve import served
from kolmogorov.serve.running import listening_socket
from kolmogorov.serve.served import Holder


@pytest.fixture
def holder(own_model):
    return Holder(str(own_model))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_in_the_place_of_the_model_is_refused_and_not_waited_for(holder, own_model):
    good, tag = own_model.read_bytes(), holder.current.tag
    own_model.unlink()
    os.mkfifo(own_model)
    assert not holder.look()
    assert holder.problem.endswith("so the old model is served: model.km is no regular file.")
    assert holder.current.tag == tag
    with pytest.raises(DataError, match="is no regular file"):
        Holder(str(own_model))
    own_model.unlink()
    own_model.write_bytes(good)
    holder.look()
    assert holder.problem is None


def test_what_is_said_of_a_file_does_not_tell_where_it_lies(holder, own_model):
    for rubbish in (b"rubbish", b"", None):
        own_model.unlink()
        if rubbish is not None:
            own_model.write_bytes(rubbish)
        holder.look()
        assert "could not be loaded" in holder.problem
        assert "model.km" in holder.problem
        assert str(own_model.parent) not in holder.problem
        own_model.write_bytes(b"other")


def test_an_error_that_nobody_expects_is_told_and_ends_nothing(holder, own_model, monkeypatch):
    good = own_model.read_bytes()

    def broken(path):
        raise ZeroDivisionError("ann@x.org")

    with monkeypatch.context() as patch:
        patch.setattr(served, "load", broken)
        own_model.write_bytes(b"other")
        holder._looked(False)
    assert "ZeroDivisionError" in holder.problem
    assert "ann" not in holder.problem
    own_model.write_bytes(good)
    holder._looked(False)
    assert holder.problem is None
    holder.watch(0.01)
    holder.close()


# --- the socket that workers share ----------------------------------------------------------------------


def test_connections_send_at_once():
    with listening_socket("127.0.0.1", 0) as listening:
        listening.listen()
        with socket.create_connection(listening.getsockname()), listening.accept()[0] as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_an_address_that_cannot_be_had_is_said():
    with listening_socket("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ExecutionError, match=f"Cannot listen on 127.0.0.1, port {port}: .* Give another address"):
            listening_socket("127.0.0.1", port)
    with pytest.raises(ExecutionError, match="Cannot listen on no.such.host.invalid, port 1"):
        listening_socket("no.such.host.invalid", 1)
