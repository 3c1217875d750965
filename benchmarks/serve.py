"""A server under load: MovieLens 1M, two workers, asked by a client on the same machine.

100 requests a second of mixed kinds for 60 seconds, or as many as are given, at times that do not wait for answers, so
that a slow answer delays none but itself.

    python benchmarks/serve.py [SECONDS]
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from harness import Column, Table, finish, machine, movielens

import kolmogorov as km

RATE, SECONDS, WORKERS = 100, 60, 2
#: Kinds of requests, and how many of a hundred are of each.
SHARES = {"list of a user": 40, "list of a guest": 20, "20 predictions": 20, "explanation": 10, "neighbours": 10}
LOAD = [
    Column("request"),
    Column("asked", ",d"),
    Column("failed", "d"),
    Column("p50, ms", ".1f"),
    Column("p99, ms", ".1f"),
]


def main() -> None:
    """Serve a model, and ask."""
    print(machine())
    seconds, table = int(sys.argv[1]) if sys.argv[1:] else SECONDS, movielens("ml-1m")
    title = f"{RATE} requests a second for {seconds} s, {WORKERS} workers"
    load = Table("serve", title, "python benchmarks/serve.py", LOAD)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "served.km")
        km.KolmogorovModel(16, learn_from="ratings", max_iter=4, random_state=0).fit(table).save(path)
        with served(path) as url:
            for row in asyncio.run(loaded(Asker(url, table), seconds)):
                load.add(*row)
    finish(load, complete=seconds == SECONDS)


@contextmanager
def served(path: Path) -> Iterator[str]:
    """Serve a model from processes of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [sys.executable, "-m", "kolmogorov", "serve", path, "--port", port, "--workers", WORKERS]
    process = subprocess.Popen([str(word) for word in words], stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        end = time.monotonic() + 120
        found: set[int] = set()
        while len(found) < WORKERS:
            if time.monotonic() > end or process.poll() is not None:
                sys.exit("the server did not start")
            try:
                found.add(httpx.get(f"{url}/health", timeout=5).json()["worker"])
            except httpx.HTTPError:
                time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        process.wait(60)


class Asker:
    """Makes requests of all kinds, the same from run to run."""

    def __init__(self, url: str, table: km.Observations) -> None:
        self._url, self._rng = url, np.random.default_rng(0)
        self._users, self._items = table.users.ids, table.items.ids
        self.kinds = [kind for kind, share in SHARES.items() for _ in range(share)]

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self._url, timeout=30, limits=httpx.Limits(max_connections=64))

    def request(self, kind: str) -> tuple[str, str, Any]:
        """Return a method, a path and a body."""
        rng = self._rng
        user, items = int(rng.choice(self._users)), rng.choice(self._items, 20, replace=False).tolist()
        if kind == "list of a user":
            return "POST", "/recommend", {"users": [user], "n": 10}
        if kind == "list of a guest":
            return (
                "POST",
                "/recommend",
                {"guests": [{str(item): int(rng.integers(1, 6)) for item in items[:10]}], "n": 10},
            )
        if kind == "20 predictions":
            return "POST", "/predict", {"pairs": [[user, item] for item in items]}
        if kind == "explanation":
            return "POST", "/explain", {"user": user, "item": items[0]}
        return "GET", f"/similar?item={items[0]}&n=10", None

    def mixed(self) -> str:
        return str(self._rng.choice(self.kinds))

    async def asked(self, client: httpx.AsyncClient, request: tuple[str, str, Any]) -> bool:
        """Ask; tell whether it was answered."""
        method, path, body = request
        try:
            answer = await client.request(method, path, json=body)
        except httpx.HTTPError:
            return False
        # Of some items the model has no ratings; that it says so is an answer.
        return answer.status_code in (200, 404)


async def loaded(asker: Asker, seconds: int) -> list[tuple[Any, ...]]:
    """Ask at a constant rate, whether answers have come or not."""
    times: dict[str, list[float]] = defaultdict(list)
    failed: dict[str, int] = defaultdict(int)
    async with asker.client() as client:
        for kind in SHARES:
            await asker.asked(client, asker.request(kind))
        began = time.perf_counter()

        async def one(kind: str, due: float) -> None:
            good = await asker.asked(client, asker.request(kind))
            times[kind].append(time.perf_counter() - due)
            failed[kind] += not good

        tasks = []
        for number in range(RATE * seconds):
            due = began + number / RATE
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            tasks.append(asyncio.create_task(one(asker.mixed(), due)))
        await asyncio.gather(*tasks)
    return [
        (kind, len(times[kind]), failed[kind], *(1000.0 * np.percentile(times[kind], [50, 99])).tolist())
        for kind in SHARES
    ]


if __name__ == "__main__":
    main()
