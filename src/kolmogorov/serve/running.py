"""The server's processes, one or workers on one socket, whose connections must begin their requests in time."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import multiprocessing
import multiprocessing.connection
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from kolmogorov.errors import ExecutionError
from kolmogorov.serve.app import app_of
from kolmogorov.serve.guard import MOST_HEAD, TOO_LARGE_HEAD, App
from kolmogorov.serve.served import awaited
from kolmogorov.serve.settings import Settings, token


def heads_within(seconds: float) -> type[H11Protocol]:
    """Return connections that are ended where the head of a request is not whole after so many seconds.

    The time for a body runs in the application, which hears of a request when its head is whole, and not before.
    """

    class Heads(H11Protocol):
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._timed()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._timed()

        def connection_lost(self, exc: Exception | None) -> None:
            self._untimed()
            super().connection_lost(exc)

        def send_400_response(self, msg: str) -> None:
            """Say what is wrong with what is no request; called where h11 has refused it."""
            if getattr(sys.exception(), "error_status_hint", None) == 431:
                self._refuse(431, TOO_LARGE_HEAD)
            else:
                self._refuse(400, "This is no HTTP request.")

        def _timed(self) -> None:
            """Have a timer run while a head is awaited that has begun, or the first of a connection."""
            if self.conn.their_state is not h11.IDLE or self.transport.is_closing():
                self._untimed()
            elif self._timer is None:
                self._timer = self.loop.call_later(seconds, self._late)

        def _untimed(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _late(self) -> None:
            self._timer = None
            if self.transport.is_closing() or self.conn.their_state is not h11.IDLE:
                return
            if self.conn.trailing_data[0]:
                self._refuse(408, f"A request must be here within {seconds:g} seconds.")
            else:
                self.transport.close()

        def _refuse(self, status: int, sentence: str) -> None:
            body = json.dumps({"error": sentence}).encode()
            size = ("content-length", str(len(body)))
            headers = [("content-type", "application/json"), size, ("connection", "close")]
            for event in (h11.Response(status_code=status, headers=headers), h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
            self.transport.close()

    return Heads


#: Seconds for requests under way when the server is stopped, those that a worker has beyond them, and connections.
_GRACE, _MORE, _CONNECTIONS = 10, 10, 1_000
#: Connections that may wait to be taken, and seconds between two looks at the workers.
_BACKLOG, _LOOK = 2_048, 0.2


class Workers:
    """Workers that are started again where they end, and that read the model again on SIGHUP."""

    def __init__(self, listening: socket.socket, count: int) -> None:
        self._listening, self._count = listening, count
        self._processes: list[BaseProcess] = []
        self._signals: list[int] = []

    def run(self) -> None:
        """Keep workers until SIGINT or SIGTERM."""
        for number in _signals():
            signal.signal(number, lambda number, _: self._signals.append(number))
        self._processes = [self._started() for _ in range(self._count)]
        while not {signal.SIGINT, signal.SIGTERM} & set(self._signals):
            while self._signals:
                self._tell(self._signals.pop())
            self._processes = [one if one.is_alive() else self._started() for one in self._processes]
            time.sleep(_LOOK)
        self._tell(signal.SIGTERM)
        for process in self._processes:
            process.join(_GRACE + _MORE)
            if process.is_alive():
                process.kill()
                process.join()

    def _started(self) -> BaseProcess:
        process = multiprocessing.get_context("spawn").Process(target=work, args=(self._listening,))
        process.start()
        return process

    def _tell(self, number: int) -> None:
        for process in self._processes:
            if process.is_alive() and process.pid is not None:
                os.kill(process.pid, number)


def run(settings: Settings, listening: socket.socket, workers: int) -> None:
    """Serve until SIGINT or SIGTERM; requests under way are answered first."""
    os.environ.update(settings.to_environment())
    if workers == 1:
        work(listening)
    else:
        Workers(listening, workers).run()


def work(listening: socket.socket) -> None:
    """Serve what the environment describes, in this process.

    A worker that starts while the file is rubbish waits for another file. Until then the others answer.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(message)s")
    settings = Settings.from_environment()
    with _ended_in_peace():
        _end_with_parent()
        holder = awaited(settings.model, settings.titles, settings.pause)
        uvicorn.Server(_config(app_of(settings, token(), holder), settings.seconds)).run(sockets=[listening])


def _end_with_parent() -> None:
    """Have a worker end as on SIGTERM when the process that started it has ended, however that did."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def _config(app: App, seconds: float) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=heads_within(seconds),
        access_log=False,
        log_level="warning",
        server_header=False,
        backlog=_BACKLOG,
        limit_concurrency=_CONNECTIONS,
        h11_max_incomplete_event_size=MOST_HEAD,
        timeout_graceful_shutdown=_GRACE,
        ws="none",
    )


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address; its connections send at once.

    They would wait for the client's word between the head of an answer and its body, 40 ms: asyncio sees to that for
    sockets of its own alone.
    """
    try:
        family, kind, number, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, number)
        if os.name == "posix":
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        found.bind(address)
    except OSError as error:
        why = error.strerror or str(error)
        raise ExecutionError(f"Cannot listen on {host}, port {port}: {why}. Give another address or port.") from error
    return found


def _signals() -> list[int]:
    return [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextlib.contextmanager
def _ended_in_peace() -> Iterator[None]:
    """Take the signal that ended a server, which it raises again after it has ended, for what it is: no error."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    if hasattr(signal, "SIGHUP"):
        # Until the server hears it there is no model that another could replace.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)
