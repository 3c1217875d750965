"""A server under load: MovieLens 1M, two workers, asked by a client on the same machine.

`python benchmarks/serve.py [load] [swaps] [memory] [kill]`, bounded in number and time: 100 requests a second of mixed
kinds for 60 seconds, at times that do not wait for answers, so that a slow answer delays none but itself; 10,000
requests while five other models take the place of the one served; 20,000 requests and the memory of the workers before
and after; and a worker that is killed, with the number of times that a client had to ask again.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from harness import Column, Table, finish, machine, movielens

import kolmogorov as km

RATE, SECONDS, SWAPPED, SWAPS, MANY, WORKERS = 100, 60, 10_000, 5, 20_000, 2
#: Kinds of requests, and how many of a hundred are of each.
SHARES = {"list of a user": 40, "list of a guest": 20, "20 predictions": 20, "explanation": 10, "neighbours": 10}
LOAD = [
    Column("request"),
    Column("asked", ",d"),
    Column("failed", "d"),
    Column("p50, ms", ".1f"),
    Column("p99, ms", ".1f"),
]
REST = [Column("what"), Column("asked", ",d"), Column("failed", "d"), Column("found")]


def main() -> None:
    """Run the parts that were asked for."""
    print(machine())
    parts = sys.argv[1:] or ["load", "swaps", "memory", "kill"]
    command = "python benchmarks/serve.py"
    load = Table("serve-load", f"{RATE} requests a second for {SECONDS} s, {WORKERS} workers", command, LOAD)
    rest = Table("serve-faults", f"{WORKERS} workers", command, REST)
    table = movielens("ml-1m")
    with tempfile.TemporaryDirectory() as folder:
        models = fitted(table, Path(folder))
        for part in parts:
            with served(models[0], Path(folder)) as (url, path, parent):
                asker = Asker(url, table)
                if part == "load":
                    for row in asyncio.run(loaded(asker)):
                        load.add(*row)
                elif part == "swaps":
                    rest.add(*asyncio.run(swapped(asker, path, models)))
                elif part == "memory":
                    rest.add(*asyncio.run(remembered(asker, parent)))
                else:
                    rest.add(*asyncio.run(killed(asker)))
    finish(load, rest, complete=not sys.argv[1:])


def fitted(table: km.Observations, folder: Path) -> list[Path]:
    """Write the models that are served in turn: one, and what it becomes when a rating after the other is removed."""
    model, paths = km.KolmogorovModel(16, learn_from="ratings", max_iter=4, random_state=0).fit(table), []
    for number in range(SWAPS + 1):
        paths.append(folder / f"{number}.km")
        model.save(paths[-1])
        model.update(remove=[(table.users.ids[number], table.items.ids[table.rows.indices[table.rows.indptr[number]]])])
    print(f"a model has {paths[0].stat().st_size / 1e6:.1f} MB", flush=True)
    return paths


@contextmanager
def served(model: Path, folder: Path) -> Iterator[tuple[str, Path, int]]:
    """Serve a copy of a model from processes of its own."""
    path = folder / "served.km"
    path.write_bytes(model.read_bytes())
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
        yield url, path, process.pid
    finally:
        process.terminate()
        process.wait(60)


class Asker:
    """Makes requests of all kinds, the same from run to run."""

    def __init__(self, url: str, table: km.Observations) -> None:
        self._url, self._rng = url, np.random.default_rng(0)
        self._users, self._items = table.users.ids, table.items.ids
        self.kinds = [kind for kind, share in SHARES.items() for _ in range(share)]
        #: Models that answered, by their tags.
        self.tags: set[str] = set()

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
        self.tags |= {answer.headers["etag"]} if "etag" in answer.headers else set()
        # Of some items the model has no ratings; that it says so is an answer.
        return answer.status_code in (200, 404)


async def loaded(asker: Asker) -> list[tuple[Any, ...]]:
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
        for number in range(RATE * SECONDS):
            due = began + number / RATE
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            tasks.append(asyncio.create_task(one(asker.mixed(), due)))
        await asyncio.gather(*tasks)
    return [
        (kind, len(times[kind]), failed[kind], *(1000.0 * np.percentile(times[kind], [50, 99])).tolist())
        for kind in SHARES
    ]


async def many(asker: Asker, count: int, at: Callable[[int], Any] = lambda _: None) -> int:
    """Ask so many times, eight at a time; `at` is told each number; return how many failed."""
    numbers, failed = iter(range(count)), 0
    async with asker.client() as client:

        async def some() -> None:
            nonlocal failed
            for number in numbers:
                at(number)
                failed += not await asker.asked(client, asker.request(asker.mixed()))

        await asyncio.gather(*(some() for _ in range(8)))
    return failed


async def swapped(asker: Asker, path: Path, models: list[Path]) -> tuple[Any, ...]:
    """Ask while models take each other's place."""
    waiting, pause = list(models[1:]), SWAPPED // len(models)

    def at(number: int) -> None:
        if number and number % pause == 0 and waiting:
            neighbour = path.with_suffix(".next")
            neighbour.write_bytes(waiting.pop(0).read_bytes())
            neighbour.replace(path)

    failed = await many(asker, SWAPPED, at)
    return f"{SWAPS} models swapped while it is asked", SWAPPED, failed, f"{len(asker.tags)} models answered"


async def remembered(asker: Asker, parent: int) -> tuple[Any, ...]:
    """Ask, and look at the memory of the workers."""
    await many(asker, MANY // 10)
    before = memory(parent)
    failed = await many(asker, MANY)
    after = memory(parent)
    return "memory of the server", MANY, failed, f"{before:.0f} MB before, {after:.0f} MB after"


def memory(parent: int) -> float:
    """Return the resident memory of the children of a process, in MB."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    found = 0.0
    for child in children:
        text = Path(f"/proc/{child}/status").read_text()
        found += float(re.findall(r"VmRSS:\s+(\d+)", text)[0]) / 1024
    return found


async def killed(asker: Asker) -> tuple[Any, ...]:
    """Kill a worker under load; count how often any request had to be sent again."""
    worst = failed = total = 0
    async with asker.client() as client:
        worker = (await client.get("/health")).json()["worker"]

        async def some() -> None:
            nonlocal worst, failed, total
            for _ in range(250):
                request, tries = asker.request(asker.mixed()), 0
                while not await asker.asked(client, request):
                    tries += 1
                    if tries > 3:
                        failed += 1
                        break
                worst, total = max(worst, tries), total + 1

        async def beside() -> None:
            await asyncio.sleep(1.0)
            os.kill(worker, signal.SIGKILL)

        await asyncio.gather(*(some() for _ in range(8)), beside())
    return "a worker killed", total, failed, f"asked again {worst} time{'' if worst == 1 else 's'} at most"


if __name__ == "__main__":
    main()
