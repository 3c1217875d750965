"""What every request passes before it is answered: the token, limits of size and time, the log, counts and times."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import os
import threading
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from kolmogorov.serve.answers import WANTED, Wanted
from kolmogorov.serve.settings import Settings

#: Upper ends of the bins of times, in seconds.
BINS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
#: Methods that are counted by name.
METHODS = ("GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE")


class Metrics:
    """What one worker has answered so far."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: dict[tuple[str, str, int], int] = defaultdict(int)
        self._bins: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BINS) + 1))
        self._seconds: dict[str, float] = defaultdict(float)

    def add(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answer; methods that no route has are one, however many a client invents."""
        method = method if method in METHODS else "other"
        with self._lock:
            self._answers[method, route, status] += 1
            self._bins[route][bisect_left(BINS, seconds)] += 1
            self._seconds[route] += seconds

    def text(self, *, since: float, swaps: int, failing: bool) -> str:
        """Return everything, for one worker: the label says which, since another may answer the next time."""
        worker = f'worker="{os.getpid()}"'
        lines = ["# Counts of one worker, which the label names. Another worker may answer the next time."]
        lines += ["# HELP kolmogorov_requests_total Requests answered.", "# TYPE kolmogorov_requests_total counter"]
        with self._lock:
            for (method, route, status), count in sorted(self._answers.items()):
                labels = f'method="{method}",route="{route}",status="{status}",{worker}'
                lines.append(f"kolmogorov_requests_total{{{labels}}} {count}")
            lines.append("# HELP kolmogorov_request_seconds Time from the whole request to the answer.")
            lines.append("# TYPE kolmogorov_request_seconds histogram")
            for route, bins in sorted(self._bins.items()):
                total = 0
                for end, count in zip([*map(str, BINS), "+Inf"], bins, strict=True):
                    total += count
                    lines.append(f'kolmogorov_request_seconds_bucket{{route="{route}",le="{end}",{worker}}} {total}')
                lines.append(f'kolmogorov_request_seconds_sum{{route="{route}",{worker}}} {self._seconds[route]:.6f}')
                lines.append(f'kolmogorov_request_seconds_count{{route="{route}",{worker}}} {total}')
        for name, kind, text, value in (
            ("model_loaded_timestamp_seconds", "gauge", "When the model that is served was loaded.", f"{since:.3f}"),
            ("model_swaps_total", "counter", "Models that took the place of another.", str(swaps)),
            ("model_failing", "gauge", "Whether the file has changed and could not be loaded.", str(int(failing))),
        ):
            lines += [f"# HELP kolmogorov_{name} {text}", f"# TYPE kolmogorov_{name} {kind}"]
            lines.append(f"kolmogorov_{name}{{{worker}}} {value}")
        return "\n".join(lines) + "\n"


Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
#: Asked without a token: whether the server lives, and the page, which holds nothing of the model.
OPEN = ("/health", "/")
#: Bytes of a request before its body: the address and the headers.
MOST_HEAD = 16_384
TOO_LARGE_HEAD = f"The address and the headers of a request may have {MOST_HEAD:,} bytes."
LOG = logging.getLogger("kolmogorov.serve")


class Guard:
    """An ASGI application around another."""

    def __init__(self, app: App, settings: Settings, token: str | None, metrics: Metrics) -> None:
        self._app, self._settings, self._metrics = app, settings, metrics
        self._token = None if token is None else token.encode()
        # Answers that nobody waits for, until they notice.
        self._given_up: set[asyncio.Future[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it with what is wrong with it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, method = time.perf_counter(), 0, scope["method"]

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            elif method == "HEAD":
                message = dict(message) | {"body": b""}
            await send(message)

        # Who asks for a head gets that of what GET would bring.
        inner = dict(scope) | ({"method": "GET"} if method == "HEAD" else {})
        try:
            await self._passed(inner, receive, noted)
        finally:
            # Neither the address nor what was asked for: only which of the routes. Status 0: the client has gone.
            route = getattr(inner.get("route"), "path", "other")
            seconds = time.perf_counter() - began
            self._metrics.add(method, route, status, seconds)
            LOG.info("%s %s %d %.1f ms", method, route, status, 1000.0 * seconds)

    async def _passed(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        if _head_size(scope) > MOST_HEAD:
            await refuse(send, 431, TOO_LARGE_HEAD, ("connection", "close"))
            return
        if self._token is not None and scope["path"] not in OPEN:
            scheme, _, shown = headers.get(b"authorization", b"").partition(b" ")
            if scheme.lower() != b"bearer" or not hmac.compare_digest(shown.strip(b" "), self._token):
                await refuse(send, 401, "Give the token: Authorization: Bearer TOKEN.", ("www-authenticate", "Bearer"))
                return
        limit, seconds = self._settings.most_bytes, self._settings.seconds
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > limit:
            await refuse(send, 413, f"A request may have {limit:,} bytes.", ("connection", "close"))
            return
        try:
            body = await asyncio.wait_for(_body(receive, limit), seconds)
        except TimeoutError:
            await refuse(send, 408, f"A request must be here within {seconds:g} seconds.", ("connection", "close"))
            return
        if body is None:
            return
        if len(body) > limit:
            await refuse(send, 413, f"A request may have {limit:,} bytes.", ("connection", "close"))
            return
        await self._answered(scope, body, receive, send)

    async def _answered(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        seconds, begun, given, over = self._settings.seconds, False, False, False
        gone, wanted = asyncio.ensure_future(_gone(receive)), Wanted()

        async def replayed() -> Message:
            nonlocal given
            if given:
                return await asyncio.shield(gone)
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def started(message: Message) -> None:
            nonlocal begun
            if not over:
                begun = True
                await send(message)

        before = WANTED.set(wanted)
        task = asyncio.ensure_future(self._app(scope, replayed, started))
        WANTED.reset(before)
        try:
            await asyncio.wait({task, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if task.done() or begun:
                await task
                return
            over = True
            self._give_up(task, wanted)
            if not gone.done():
                await refuse(send, 503, f"The answer took more than {seconds:g} seconds. Ask for less at a time.")
        finally:
            gone.cancel()

    def _give_up(self, task: asyncio.Future[None], wanted: Wanted) -> None:
        """Drop an answer: one that waits for a thread never begins, and one that a thread computes ends soon."""

        def ended(task: asyncio.Future[None]) -> None:
            self._given_up.discard(task)
            if not task.cancelled():
                task.exception()

        wanted.end()
        self._given_up.add(task)
        task.add_done_callback(ended)
        task.cancel()


async def _gone(receive: Receive) -> Message:
    """Return when the client breaks the connection off."""
    while (message := await receive())["type"] != "http.disconnect":
        pass
    return message


def _head_size(scope: Scope) -> int:
    """Return about how many bytes came before the body."""
    lines = sum(len(name) + len(value) + 4 for name, value in scope["headers"])
    return lines + len(scope.get("raw_path") or scope["path"]) + len(scope.get("query_string", b""))


async def _body(receive: Receive, limit: int) -> bytes | None:
    """Return the body as far as it is not too long; None where the client has gone."""
    parts, size = [], 0
    while size <= limit:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if not message.get("more_body", False):
            break
    return b"".join(parts)


async def refuse(send: Send, status: int, sentence: str, header: tuple[str, str] | None = None) -> None:
    """Answer with a sentence that says what is wrong."""
    body = json.dumps({"error": sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if header is not None:
        headers.append((header[0].encode(), header[1].encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
