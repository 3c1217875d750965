"""A real server: it swaps models, outlives its workers, and ends when told to."""

import json
import os
import signal
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
            with httpx.Client(base_url=server.url, timeout=60, verify=False) as client:
                assert client.post("/predict", json=PAIRS).status_code == 200
        assert 'route="/predict",status="200"} 20.0' in server.client.get("/metrics").text
        good = own_model.read_bytes()
        own_model.write_bytes(b"rubbish")
        server.client.close()
        killed = workers_of(server).pop()
        os.kill(killed, signal.SIGKILL)
        # While the file is rubbish the new worker waits for another; the old one answers.
        wait_until(lambda: "waiting for a model" in server.log.read_text(), "the new worker")
        assert httpx.post(f"{server.url}/predict", json=PAIRS, timeout=60).status_code == 200
        own_model.write_bytes(good)
        wait_until(lambda: len(workers_of(server) - {killed}) == 2, "two workers")
        assert server.stop() == 0
