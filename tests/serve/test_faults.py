"""What goes wrong around a real server: requests of all kinds, clients that break off, files that are rubbish."""

import os
import re
import signal
import socket
import threading

import httpx
import pytest

import kolmogorov as km
from helpers.processes import wait_until
from helpers.server import serving

pytestmark = pytest.mark.long("a server in a process of its own")
PAIRS, JSON = {"pairs": [["dolphin", "milk"]]}, {"content-type": "application/json"}

WRONG = {
    "no json": ("/predict", b"{pairs", 422, "JSON decode error"),
    "half a letter": ("/predict", b'{"pairs": [["\xff", "milk"]]}', 400, None),
    "a number": ("/predict", b"7", 422, "valid dictionary"),
    "nothing": ("/predict", b"", 422, "Field required"),
    "no pairs": ("/predict", b'{"pairs": []}', 422, "pairs: List should have at least 1 item"),
    "half a pair": ("/predict", b'{"pairs": [["dolphin"]]}', 422, "pairs.0.1: Field required"),
    "no id": ("/predict", b'{"pairs": [["dolphin", null]]}', 422, "pairs.0.1"),
    "truth for an id": ("/predict", b'{"pairs": [[true, "milk"]]}', 422, "pairs.0.0"),
    "a field too many": ("/predict", b'{"pairs": [["a", "b"]], "sql": 1}', 422, "sql: Extra inputs are not permitted"),
    "no integer": ("/predict", b'{"pairs": [[1e99, "milk"]]}', 422, "pairs.0.0"),
    "too large an integer": ("/predict", b'{"pairs": [[99999999999999999999, "milk"]]}', 422, "pairs.0.0"),
    "both kinds": ("/recommend", b'{"users": ["bear"], "guests": [{"milk": 1}]}', 422, "one of the two"),
    "neither kind": ("/recommend", b"{}", 422, "one of the two"),
    "a list too long": ("/recommend", b'{"users": ["bear"], "n": 100000}', 422, "n: 1,000 at most, got 100,000"),
    "a list of none": ("/recommend", b'{"users": ["bear"], "n": 0}', 422, "n: Input should be greater"),
    "an unknown user": ("/recommend", b'{"users": ["unicorn"]}', 404, "The model has no data on user 'unicorn'"),
    "a rating beyond": ("/recommend", b'{"guests": [{"milk": 7}]}', 422, "ratings lie between 0 and 1 here, got 7"),
    "no rating": ("/recommend", b'{"guests": [{"milk": "x"}]}', 422, "guests.0.milk"),
    "infinity": ("/recommend", b'{"guests": [{"milk": 1e999}]}', 422, "guests.0.milk"),
    "strange items": ("/recommend", b'{"guests": [{"wheels": 1}]}', 404, "The model knows no item that was rated here"),
    "no user": ("/explain", b'{"item": "milk"}', 422, "user: Field required"),
    "an unknown item": ("/explain", b'{"user": "bear", "item": "wheels"}', 404, "no data on item 'wheels'"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_requests_are_answered_with_what_is_wrong(zoo_server, kind):
    path, body, status, sentence = WRONG[kind]
    answer = zoo_server.client.post(path, content=body, headers=JSON)
    assert answer.status_code == status, answer.text
    if sentence:
        assert sentence in answer.json()["error"]
        assert "unknown=" not in answer.text
    assert zoo_server.client.post("/predict", json=PAIRS).status_code == 200


def test_too_much_is_refused(zoo_server):
    many = {"pairs": [["dolphin", "milk"]] * 1001}
    answer = zoo_server.client.post("/predict", json=many)
    assert (answer.status_code, answer.json()) == (422, {"error": "pairs: 1,000 at most, got 1,001."})
    large = zoo_server.client.post("/predict", content=b" " * 1_000_001)
    assert (large.status_code, large.json()) == (413, {"error": "A request may have 1,000,000 bytes."})

    def endless():
        for _ in range(2_000):
            yield b" " * 1_000

    chunked = httpx.post(f"{zoo_server.url}/predict", content=endless())
    assert chunked.status_code == 413
    long = zoo_server.client.get("/similar", params={"item": "x" * 501})
    assert long.status_code == 422
    nested = b"[" * 100_000
    assert zoo_server.client.post("/predict", content=nested, headers=JSON).status_code == 400


def test_what_is_not_asked_as_it_should_be_is_said(zoo_server):
    ask = zoo_server.client
    nowhere, method = ask.get("/nowhere"), ask.get("/predict")
    assert (nowhere.status_code, nowhere.json()) == (404, {"error": "Not Found."})
    assert (method.status_code, method.json()) == (405, {"error": "Method Not Allowed."})
    form = ask.post("/predict", content=b'{"pairs": [["dolphin", "milk"]]}')
    assert form.status_code == 415
    assert form.json() == {"error": "Send JSON, with the header Content-Type: application/json."}
    for number in range(3):
        assert ask.request(f"METHOD{number}", "/predict").status_code == 405
    assert 'kolmogorov_requests_total{method="other",route="/predict",status="405"' in ask.get("/metrics").text
    assert "METHOD1" not in ask.get("/metrics").text


def connected(server):
    return socket.create_connection(("127.0.0.1", server.port), timeout=60)


def test_clients_that_break_off_or_dawdle_hinder_nobody(zoo_model, tmp_path):
    with serving(zoo_model, tmp_path / "log", "--seconds", "1") as server:
        head = b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n"
        for _ in range(20):
            with connected(server) as broken:
                broken.sendall(head + b'{"pairs')
        for _ in range(5):
            with connected(server) as broken:
                broken.sendall(b"GET /events HTTP/1.1\r\nhost: x\r\n\r\n")
        with connected(server) as rubbish:
            rubbish.sendall(b"\x16\x03\x01\x02\x00 this is no HTTP\r\n\r\n")
            assert b"400" in rubbish.recv(1000)
        slow = [connected(server) for _ in range(10)]
        for one in slow:
            one.sendall(head + b"{")
        assert server.client.post("/predict", json=PAIRS).status_code == 200
        for one in slow:
            answer = one.recv(1000)
            assert b" 408 " in answer.split(b"\r\n")[0]
            one.close()
        assert server.health()["status"] == "ok"


def test_heads_that_dawdle_or_are_large_are_refused(zoo_model, tmp_path):
    with serving(zoo_model, tmp_path / "log", "--seconds", "1") as server:
        slow, silent, later = [connected(server) for _ in range(5)], connected(server), connected(server)
        for one in slow:
            one.sendall(b"GET /events HTTP/1.1\r\nhost: x\r\nx: ")
        later.sendall(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
        assert b" 200 " in later.recv(1000).split(b"\r\n")[0]
        # The second request of a connection, too.
        later.sendall(b"GET /hea")
        for one in [*slow, later]:
            answer = everything_from(one)
            assert b" 408 " in answer.split(b"\r\n")[0]
            assert b'{"error": "A request must be here within 1 seconds."}' in answer
        assert everything_from(silent) == b""
        # At once, and piece by piece.
        line = b"x: " + b"a" * 20_000 + b"\r\n"
        for end in (b"\r\n", b""):
            with connected(server) as large:
                large.sendall(b"GET /events HTTP/1.1\r\nhost: x\r\n" + line + end)
                assert b" 431 " in everything_from(large).split(b"\r\n")[0]
        assert server.health()["status"] == "ok"


def everything_from(connection):
    """What comes until the server ends the connection."""
    with connection:
        found = b""
        while part := connection.recv(1000):
            found += part
    return found


def test_clients_that_give_up_do_not_starve_the_others(own_model, zoo, tmp_path):
    with serving(own_model, tmp_path / "log", "--seconds", "60") as server:
        body = b'{"guests": [' + b",".join([b'{"milk": 1, "eggs": 0}'] * 1000) + b'], "n": 20}'
        head = b"POST /recommend HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        for _ in range(40):
            with connected(server) as given_up:
                given_up.sendall(head % len(body) + body)
        assert server.client.post("/predict", json=PAIRS).status_code == 200
        same = server.client.post("/recommend", json={"users": ["bear"] * 1000, "n": 20, "exclude_seen": False}).json()
        assert {len(one["items"]) for one in same["lists"]} == {15}


@pytest.mark.skipif(os.name != "posix", reason="processes of another kind")
def test_workers_end_with_the_process_that_started_them(zoo_model, tmp_path):
    with serving(zoo_model, tmp_path / "log", "--workers", 2) as server:
        wait_until(lambda: len(workers_of(server)) == 2, "both workers")
        server.process.kill()
        wait_until(lambda: not listens(server), "the end of the workers")


def test_rubbish_in_the_place_of_the_model_is_not_served(own_model, zoo, tmp_path):
    with serving(own_model, tmp_path / "log") as server:
        before = server.client.post("/predict", json=PAIRS).json()
        tag, good = server.health()["tag"], own_model.read_bytes()
        for rubbish in (b"rubbish", good[: len(good) // 2], good[:-5] + b"wrong", b""):
            own_model.write_bytes(rubbish)
            wait_until(lambda: server.health()["status"] == "stale", "the notice")
            health = server.health()
            assert "could not be loaded, so the old model is served" in health["problem"]
            assert health["tag"] == tag
            assert server.client.post("/predict", json=PAIRS).json() == before
            metrics = server.client.get("/metrics").text
            assert re.search(r"^kolmogorov_model_failing\{.*\} 1$", metrics, re.MULTILINE)
            own_model.write_bytes(good)
            wait_until(lambda: server.health()["status"] == "ok", "the old file")
        own_model.unlink()
        wait_until(lambda: server.health()["status"] == "stale", "the notice")
        km.KolmogorovModel(3, random_state=1).fit(zoo).save(own_model)
        wait_until(lambda: server.health()["tag"] != tag, "the new model")
        assert server.health()["status"] == "ok"


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
        for path in others:
            tag = server.health()["tag"]
            km.load(path).save(own_model)
            wait_until(lambda tag=tag: server.health()["tag"] != tag, "the next model")
        ended.set()
        for asker in askers:
            asker.join()
    assert set(statuses) == {200}
    assert len(set(tags)) == 4


def worker_of(client):
    """The process that answers on a connection."""
    return int(client.get("/metrics").text.split('swaps_total{worker="')[1].split('"')[0])


def test_a_worker_that_is_killed_is_started_again_and_costs_one_retry(zoo_model, tmp_path):
    with serving(zoo_model, tmp_path / "log", "--workers", 2) as server:
        clients = [httpx.Client(base_url=server.url, timeout=60) for _ in range(8)]
        killed = worker_of(clients[0])
        for client in clients:
            assert client.post("/predict", json=PAIRS).status_code == 200
        os.kill(killed, signal.SIGKILL)
        for client in clients:
            tries = 0
            while tries < 2:
                try:
                    assert client.post("/predict", json=PAIRS).status_code == 200
                    break
                except httpx.TransportError:
                    tries += 1
            assert tries < 2
            client.close()
        workers = set()

        def two_again():
            with httpx.Client(base_url=server.url, timeout=60) as client:
                workers.add(worker_of(client))
            return len(workers - {killed}) == 2

        wait_until(two_again, "the new worker")


def workers_of(server, without=()):
    """The processes that answer, asked on connections of their own."""
    found = set()
    for _ in range(20):
        with httpx.Client(base_url=server.url, timeout=60) as client:
            found.add(worker_of(client))
    return found - set(without)


def test_a_worker_that_is_killed_while_the_file_is_rubbish_waits_for_a_model(own_model, tmp_path):
    with serving(own_model, tmp_path / "log", "--workers", 2) as server:
        wait_until(lambda: len(workers_of(server)) == 2, "both workers")
        good = own_model.read_bytes()
        own_model.write_bytes(b"rubbish")
        wait_until(lambda: server.health()["status"] == "stale", "the notice")
        killed = worker_of(server.client)
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: "waiting for a model" in server.log.read_text(), "the new worker")
        with httpx.Client(base_url=server.url, timeout=60) as client:
            assert client.post("/predict", json=PAIRS).status_code == 200
        own_model.write_bytes(good)
        wait_until(lambda: len(workers_of(server, [killed])) == 2, "two workers")
        own_model.write_bytes(b"rubbish")
        os.kill(next(iter(workers_of(server))), signal.SIGKILL)
        waiting = "waiting for a model"
        wait_until(lambda: server.log.read_text().count(waiting) == 2, "the new worker")
        assert server.stop() == 0


def test_a_request_under_way_is_answered_before_the_server_ends(zoo_model, tmp_path):
    with serving(zoo_model, tmp_path / "log") as server:
        body = b'{"pairs": [["dolphin", "milk"]]}'
        head = b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        with connected(server) as client:
            client.sendall(head % len(body) + body[:5])
            # It has the beginning: a later connection is answered.
            assert server.health()["status"] == "ok"
            server.process.send_signal(signal.SIGTERM)
            wait_until(lambda: not listens(server), "the end of listening")
            client.sendall(body[5:])
            assert b" 200 " in client.recv(1000).split(b"\r\n")[0]
        assert server.stop() == 0


def listens(server):
    try:
        connected(server).close()
    except ConnectionError:
        return False
    return True
