"""The guard around an application that does as it is told; without any server."""

import asyncio
import json
import threading

import anyio.to_thread
import pytest

from helpers.processes import wait_until
from kolmogorov.serve.answers import UnwantedError, check_wanted
from kolmogorov.serve.guard import MOST_HEAD, Guard, Metrics
from kolmogorov.serve.settings import Settings


class Client:
    """One request to an application, and what came back."""

    def __init__(self, app, *, method="GET", path="/events", headers=(), stays=True):
        self._app, self._stays, self.sent = app, stays, []
        self._scope = {"type": "http", "method": method, "path": path, "headers": list(headers), "query_string": b""}
        self._told = False

    async def _receive(self):
        if not self._told:
            self._told = True
            return {"type": "http.request", "body": b"", "more_body": False}
        if self._stays:
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def _send(self, message):
        self.sent.append(message)

    async def ask(self):
        await self._app(self._scope, self._receive, self._send)
        return self

    @property
    def status(self):
        return self.sent[0]["status"] if self.sent else 0

    @property
    def body(self):
        return b"".join(message.get("body", b"") for message in self.sent[1:])


def guarded(app, token=None, seconds=60.0):
    return Guard(app, Settings("model.km", seconds=seconds), token, Metrics())


async def hello(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": scope["method"].encode()})


def asked(guard, **request):
    return asyncio.run(Client(guard, **request).ask())


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_may_be_in_capitals_or_not(scheme):
    guard = guarded(hello, "open sesame")
    right, wrong = f"{scheme} open sesame".encode(), f"{scheme} open".encode()
    assert asked(guard, headers=[(b"authorization", right)]).status == 200
    assert asked(guard, headers=[(b"authorization", wrong)]).status == 401
    assert asked(guard, headers=[(b"authorization", b"open sesame")]).status == 401
    assert asked(guard).status == 401


def test_a_head_is_that_of_what_get_would_bring():
    assert asked(guarded(hello)).body == b"GET"
    head = asked(guarded(hello), method="HEAD")
    assert (head.status, head.body) == (200, b"")
    assert head.sent[0]["headers"] == [(b"content-length", b"5")]


def test_a_large_head_is_refused():
    large = asked(guarded(hello), headers=[(b"x", b"a" * MOST_HEAD)])
    assert large.status == 431
    assert "16,384 bytes" in json.loads(large.body)["error"]
    assert asked(guarded(hello), path="/" + "a" * MOST_HEAD).status == 431
    assert asked(guarded(hello), headers=[(b"x", b"a" * (MOST_HEAD // 2))]).status == 200


class Computing:
    """An application that computes on the one thread there is, until it is allowed to go on or nobody waits."""

    def __init__(self):
        self.begun, self.ends, self.go_on = threading.Semaphore(0), [], threading.Event()
        self.limiter = anyio.CapacityLimiter(1)

    async def __call__(self, scope, receive, send):
        await anyio.to_thread.run_sync(self.compute, scope["path"], limiter=self.limiter)
        await hello(scope, receive, send)

    def compute(self, path):
        self.begun.release()
        while not self.go_on.wait(0.005):
            try:
                check_wanted()
            except UnwantedError:
                self.ends.append(path)
                raise


def test_an_answer_that_takes_too_long_is_given_up_and_its_thread_is_free_again():
    async def story():
        app = Computing()
        guard = guarded(app, seconds=0.05)
        late = [await Client(guard, path="/slow").ask() for _ in range(3)]
        # Clients have their answers before threads notice.
        await anyio.to_thread.run_sync(wait_until, lambda: len(app.ends) == 3, "threads that notice")
        app.go_on.set()
        return late, app, await Client(guarded(app)).ask()

    late, app, after = asyncio.run(story())
    assert [one.status for one in late] == [503] * 3
    assert app.ends == ["/slow"] * 3
    assert after.status == 200


def test_what_waits_for_a_thread_is_dropped_when_its_client_has_gone():
    async def story():
        app = Computing()
        guard = guarded(app)
        first = asyncio.ensure_future(Client(guard, path="/first").ask())
        await anyio.to_thread.run_sync(app.begun.acquire)
        gone = [await Client(guard, path="/gone", stays=False).ask() for _ in range(3)]
        app.go_on.set()
        return (await first).status, [one.sent for one in gone], app

    status, sent, app = asyncio.run(story())
    assert (status, sent) == (200, [[], [], []])
    # None of the three ever began.
    assert not app.begun.acquire(blocking=False)
