"""A server under load: MovieLens 1M, two workers, asked by a client on the same machine.

100 requests a second of mixed kinds for 60 seconds, or as many as are given, at times that do not wait for answers, so
that a slow answer delays none but itself.

    python benchmarks/serve.py [SECONDS]
"""

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
            for row in asyncio.run(loaded(url, table, seconds)):
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


def request(kind: str, table: km.Observations, rng: np.random.Generator) -> dict[str, Any]:
    """Return a method, an address and a body."""
    user, items = int(rng.choice(table.users.ids)), rng.choice(table.items.ids, 20, replace=False).tolist()
    bodies: dict[str, tuple[str, Any]] = {
        "list of a user": ("recommend", {"users": [user], "n": 10}),
        "list of a guest": ("recommend", {"guests": [{str(i): int(rng.integers(1, 6)) for i in items[:10]}], "n": 10}),
        "20 predictions": ("predict", {"pairs": [[user, item] for item in items]}),
        "explanation": ("explain", {"user": user, "item": items[0]}),
    }
    if kind not in bodies:
        return {"method": "GET", "url": f"/similar?item={items[0]}&n=10"}
    return {"method": "POST", "url": f"/{bodies[kind][0]}", "json": bodies[kind][1]}


async def asked(client: httpx.AsyncClient, what: dict[str, Any]) -> bool:
    """Ask; tell whether it was answered. Of some items the model has no ratings; that it says so is an answer."""
    try:
        return (await client.request(**what)).status_code in (200, 404)
    except httpx.HTTPError:
        return False


async def loaded(url: str, table: km.Observations, seconds: int) -> list[tuple[Any, ...]]:
    """Ask at a constant rate, whether answers have come or not."""
    times: dict[str, list[float]] = defaultdict(list)
    failed: dict[str, int] = defaultdict(int)
    rng, kinds = np.random.default_rng(0), [kind for kind, share in SHARES.items() for _ in range(share)]
    async with httpx.AsyncClient(base_url=url, timeout=30, limits=httpx.Limits(max_connections=64)) as client:
        for kind in SHARES:
            await asked(client, request(kind, table, rng))
        began = time.perf_counter()

        async def one(kind: str, due: float) -> None:
            good = await asked(client, request(kind, table, rng))
            times[kind].append(time.perf_counter() - due)
            failed[kind] += not good

        tasks = []
        for number in range(RATE * seconds):
            due = began + number / RATE
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            tasks.append(asyncio.create_task(one(str(rng.choice(kinds)), due)))
        await asyncio.gather(*tasks)
    return [
        (kind, len(times[kind]), failed[kind], *(1000.0 * np.percentile(times[kind], [50, 99])).tolist())
        for kind in SHARES
    ]


if __name__ == "__main__":
    main()
