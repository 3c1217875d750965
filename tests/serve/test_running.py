"""The socket that workers share."""

import socket

import pytest

from kolmogorov.errors import ExecutionError
from kolmogorov.serve.running import listening_socket


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
