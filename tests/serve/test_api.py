"""The API of a real server, asked by a real client."""

import httpx
import pytest

import kolmogorov as km
from helpers.processes import wait_until
from helpers.server import serving

pytestmark = pytest.mark.long("a server in a process of its own")


@pytest.fixture(scope="module")
def model(zoo_model):
    return km.load(zoo_model)


def test_predictions_and_lists_are_those_of_the_model(zoo_server, model):
    answer = zoo_server.client.post("/predict", json={"pairs": [["dolphin", "milk"], ["gull", "eggs"]]})
    assert answer.status_code == 200
    found = [one["probability"] for one in answer.json()["predictions"]]
    assert found == pytest.approx(model.predict(["dolphin", "gull"], ["milk", "eggs"]).tolist())
    assert answer.headers["etag"] == f'"{zoo_server.health()["tag"]}"'

    body = {"users": ["gull", "bear"], "n": 3, "exclude_seen": False}
    lists = zoo_server.client.post("/recommend", json=body).json()["lists"]
    for one in lists:
        wanted = model.recommend(one["user"], n=3, exclude_seen=False)["item"].tolist()
        assert [row["item"] for row in one["items"]] == wanted
    guests = [{"milk": 1, "hair": 1}, {"feathers": 1}]
    found = zoo_server.client.post("/recommend", json={"guests": guests, "n": 2}).json()["lists"]
    assert [[row["item"] for row in one["items"]] for one in found] == [
        model.recommend(guest=guest, n=2)["item"].tolist() for guest in guests
    ]


def test_explanations_neighbours_events_and_items(zoo_server, model):
    why = zoo_server.client.post("/explain", json={"user": "dolphin", "item": "milk", "rules": True}).json()
    assert why["sentence"] == model.explain("dolphin", "milk").sentence
    assert [rule["known"] for rule in why["rules"]] == [r.antecedent for r in model.explain("dolphin", "milk").reasons]
    near = zoo_server.client.get("/similar", params={"item": "milk", "n": 2}).json()["items"]
    assert [row["item"] for row in near] == model.similar_items("milk", n=2)["item"].tolist()
    events = zoo_server.client.get("/events").json()["events"]
    assert [event["name"] for event in events] == [event.name for event in model.events()]
    assert [row["item"] for row in zoo_server.client.get("/items", params={"q": "FEATH"}).json()["items"]] == [
        "feathers"
    ]


def test_metrics_and_openapi(zoo_server):
    zoo_server.client.post("/predict", json={"pairs": [["dolphin", "milk"]]})
    text = zoo_server.client.get("/metrics").text
    assert 'kolmogorov_requests_total{method="POST",route="/predict",status="200"' in text
    assert 'kolmogorov_request_seconds_bucket{route="/predict",le="+Inf"' in text
    schema = zoo_server.client.get("/openapi.json").json()
    paths = ["/predict", "/recommend", "/explain", "/similar", "/events", "/items", "/health", "/metrics"]
    assert list(schema["paths"]) == paths
    for name in ("Predict", "Recommend", "Explain"):
        for example in schema["components"]["schemas"][name]["examples"]:
            path = f"/{name.lower()}"
            assert zoo_server.client.post(path, json=example).status_code == 200, (path, example)


def test_logs_tell_nothing_of_who_asked_for_what(zoo_server):
    zoo_server.client.post("/predict", json={"pairs": [["walrus-in-person", "secret-thing"]]})
    zoo_server.client.get("/similar", params={"item": "secret-thing"})
    wait_until(lambda: "GET /similar 404" in zoo_server.log.read_text(), "the line in the log")
    log = zoo_server.log.read_text()
    assert "POST /predict 200" in log
    assert "walrus" not in log
    assert "secret" not in log
    assert "127.0.0.1" not in log.split("Ctrl-C", 1)[1]


def test_a_token_is_asked_for_where_one_is_set(zoo_model, tmp_path):
    with serving(zoo_model, tmp_path / "log", KOLMOGOROV_TOKEN="open sesame") as server:
        ask = {"pairs": [["dolphin", "milk"]]}
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "open sesame"}):
            answer = server.client.post("/predict", json=ask, headers=headers)
            assert answer.status_code == 401
            assert answer.json() == {"error": "Give the token: Authorization: Bearer TOKEN."}
        right = {"authorization": "Bearer open sesame"}
        assert server.client.post("/predict", json=ask, headers=right).status_code == 200
        assert server.client.get("/metrics").status_code == 401
        assert server.client.get("/").status_code == 200


def test_a_stopped_server_ends_with_nothing_lost(zoo_model, tmp_path):
    with serving(zoo_model, tmp_path / "log", "--workers", 2) as server:
        assert server.client.get("/events").status_code == 200
        assert server.stop() == 0
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{server.url}/health")


def test_the_server_that_is_asked_to_look_swaps_on_every_worker(own_model, zoo, tmp_path):
    with serving(own_model, tmp_path / "log", "--workers", 2) as server:
        old = server.health()["tag"]
        km.KolmogorovModel(3, random_state=1).fit(zoo).save(own_model)
        server.hang_up()

        def swapped():
            # Each request on a connection of its own: any of the workers may answer it.
            return all(httpx.get(f"{server.url}/health").json()["tag"] != old for _ in range(20))

        wait_until(swapped, "the new model")
        assert server.process.poll() is None
