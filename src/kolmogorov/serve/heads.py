"""Connections whose requests must begin in time, and with a head that is not too large."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from kolmogorov.serve.guard import TOO_LARGE_HEAD


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
