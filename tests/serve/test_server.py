"""A real server: it swaps models, outlives its workers, drops who does not read, and ends when told to."""

import json
import os
import signal
import socket
import subprocess
from urllib.request import urlopen

import httpx
import pytest

import kolmogorov as km
from helpers.processes import tool, wait_until
from helpers.server import serving

pytestmark = pytest.mark.long("a server in a process of its own")
PAIRS = {"pairs": [["dolphin", "milk"]]}


def workers_of(server):
    """The processes that answer, asked on connections of their own."""
    return {json.load(urlopen(f"{server.url}/health", timeout=60))["worker"] for _ in range(20)}


def test_a_server_with_a_token_swaps_its_model_and_says_when_it_cannot(own_model, zoo, tmp_path):
    right = {"authorization": "Bearer open sesame"}
    with serving(own_model, tmp_path / "log", KOLMOGOROV_TOKEN="open sesame") as server:

        def told():
            # No request fails while a model is taken over.
            answer = server.client.post("/predict", json=PAIRS, headers=right)
            assert answer.status_code == 200
            return answer.headers["etag"]

        assert server.client.post("/predict", json=PAIRS).status_code == 401
        first = told()
        km.KolmogorovModel(3, random_state=1, learn_from="ratings").fit(zoo).save(own_model)
        wait_until(lambda: told() != first, "the answer of the next model")
        taken = subprocess.run(tool("serve", own_model, "--port", server.port), capture_output=True, text=True)
        assert taken.returncode != 0
        assert "address already in use" in taken.stderr
        assert "Traceback" not in taken.stderr
        second = told()
        own_model.write_bytes(b"rubbish")
        wait_until(lambda: server.health()["status"] == "stale", "the notice")
        assert told() == second
        assert server.stop() == 0


def test_workers_count_together_and_one_that_is_killed_is_started_again(own_model, tmp_path):
    with serving(own_model, tmp_path / "log", "--workers", 2) as server:
        wait_until(lambda: len(workers_of(server)) == 2, "both workers")
        for _ in range(20):
            with httpx.Client(base_url=server.url, timeout=60) as client:
                assert client.post("/predict", json=PAIRS).status_code == 200
        assert 'route="/predict",status="200"} 20.0' in server.client.get("/metrics").text
        server.client.close()
        killed = workers_of(server).pop()
        os.kill(killed, signal.SIGKILL)
        assert httpx.post(f"{server.url}/predict", json=PAIRS, timeout=60).status_code == 200
        wait_until(lambda: len(workers_of(server) - {killed}) == 2, "two workers")
        assert server.stop() == 0


def test_who_does_not_read_is_dropped(zoo_model, tmp_path):
    body = json.dumps({"users": ["dolphin"] * 1000, "n": 15, "exclude_seen": False}).encode()
    head = (
        f"POST /recommend HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    )
    with serving(zoo_model, tmp_path / "log") as server, socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", server.port))
        deaf.settimeout(60)
        # Answers of a megabyte are asked for again and again, and none is taken.
        with pytest.raises(ConnectionError):
            deaf.sendall((f"{head}\r\n\r\n".encode() + body) * 2_000)
        assert server.health()["status"] == "ok"
