"""A real server: it swaps models, outlives its workers, and ends when told to."""

import json
import os
import signal
import subprocess
import threading
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


def test_models_are_swapped_without_a_failed_request(own_model, zoo, tmp_path):
    others = []
    for seed in range(3):
        others.append(tmp_path / f"{seed}.km")
        km.KolmogorovModel(3, random_state=seed, learn_from="ratings").fit(zoo).save(others[-1])
    with serving(own_model, tmp_path / "log") as server:
        statuses, tags, ended = [], [], threading.Event()

        def ask():
            with httpx.Client(base_url=server.url, timeout=60) as client:
                while not ended.is_set():
                    answer = client.post("/recommend", json={"users": ["bear"], "n": 3, "exclude_seen": False})
                    statuses.append(answer.status_code)
                    tags.append(answer.headers["etag"])

        askers = [threading.Thread(target=ask) for _ in range(3)]
        for asker in askers:
            asker.start()
        for number, path in enumerate(others, 2):
            wait_until(lambda number=number: len(set(tags)) == number - 1, "answers of one model")
            km.load(path).save(own_model)
            wait_until(lambda number=number: len(set(tags)) == number, "answers of the next")
        ended.set()
        for asker in askers:
            asker.join()
        assert server.stop() == 0
    assert set(statuses) == {200}


def test_rubbish_in_the_place_of_the_model_is_not_served(own_model, tmp_path):
    with serving(own_model, tmp_path / "log") as server:
        before, good = server.client.post("/predict", json=PAIRS).json(), own_model.read_bytes()
        own_model.write_bytes(b"rubbish")
        wait_until(lambda: server.health()["status"] == "stale", "the notice")
        assert server.client.post("/predict", json=PAIRS).json() == before
        wait_until(lambda: "kolmogorov_model_failing 1.0" in server.client.get("/metrics").text, "the metric")
        own_model.write_bytes(good)
        wait_until(lambda: server.health()["status"] == "ok", "the old file")


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


def test_a_token_from_the_environment(zoo_model, tmp_path):
    with serving(zoo_model, tmp_path / "log", KOLMOGOROV_TOKEN="open sesame") as server:
        assert server.client.post("/predict", json=PAIRS).status_code == 401
        right = {"authorization": "Bearer open sesame"}
        assert server.client.post("/predict", json=PAIRS, headers=right).status_code == 200


def test_an_address_that_is_taken_is_said(zoo_model, tmp_path):
    with serving(zoo_model, tmp_path / "log") as server:
        found = subprocess.run(tool("serve", zoo_model, "--port", server.port), capture_output=True, text=True)
    assert found.returncode != 0
    assert "address already in use" in found.stderr
    assert "Traceback" not in found.stderr
