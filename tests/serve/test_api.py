"""The API, asked in this process: its answers are the model's, and what is wrong is said in one sentence."""

import asyncio
import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kolmogorov as km
from kolmogorov import serve

KINDS = ("one", "draws", "lists")
PAIRS = {"pairs": [["3", "4"]]}


class Client:
    """Asks an application without any server."""

    def __init__(self, path, **given):
        self.app = serve.create_app(serve.Settings(model=path, **given))

    def ask(self, method, path, host="localhost", **request):
        async def asked():
            async with httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url=f"http://{host}") as client:
                return await client.request(method, path, **request)

        # In a thread of its own: where a browser is driven, this one has a loop already.
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: asyncio.run(asked())).result()

    def get(self, path, **request):
        return self.ask("GET", path, **request)

    def post(self, path, body=None, **request):
        return self.ask("POST", path, **request, **({} if body is None else {"json": body}))


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    """A model of each kind, and a client of an application that serves it."""
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((40, 15)) < 0.5)
    values, names = rng.integers(1, 6, users.size), {item: f"Film {item}" for item in range(15)}
    table = km.Observations.from_arrays(users, items, values, maximum=5).with_titles(items=names)
    models = {
        "one": km.KolmogorovModel(3, random_state=0),
        "draws": km.BayesianKolmogorovModel(3, n_chains=2, burn_in=10, n_samples=3, random_state=0),
        "lists": km.ListModel(3, ridge=5.0, growth=0.0, balance=0.5, unobserved=0.1, random_state=0),
    }
    found, folder = {}, tmp_path_factory.mktemp("films")
    for kind, model in models.items():
        model.fit(table).save(folder / f"{kind}.km")
        found[kind] = model, Client(folder / f"{kind}.km")
    return found


@pytest.fixture(scope="module")
def served(films):
    return films["one"][1]


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_the_models(films, kind):
    model, client = films[kind]
    number, unit = ("score", "score") if kind == "lists" else ("probability", "rating")
    answer = client.post("/predict", {"pairs": [["3", "4"], [3, "Film 4"], ["999", "4"], ["nobody", "nothing"]]})
    found = answer.json()["predictions"]
    said = model.predict(["3", "999"], ["4", "4"], unknown="ignore", output="probability")
    assert found[0][number] == found[1][number] == pytest.approx(said[0])
    assert found[2][number] == pytest.approx(said[1])
    assert [one["known"] for one in found] == [True, True, False, False]
    assert ("rating" in found[0]) == (kind != "lists")
    assert answer.headers["etag"] == f'"{client.get("/health").json()["tag"]}"'

    lists = client.post("/recommend", {"users": ["3", 5, "3"], "n": 4}).json()["lists"]
    assert [one["user"] for one in lists] == ["3", "5", "3"]
    for one in lists:
        frame = model.recommend(one["user"], n=4)
        assert [row["item"] for row in one["items"]] == frame["item"].tolist()
        assert [row["title"] for row in one["items"]] == frame["title"].tolist()
    guests = [{"Film 1": 5, "2": 1, "unheard": 3}, {"Film 9": 4}]
    found = client.post("/recommend", {"guests": guests, "n": 4}).json()["lists"]
    assert [one["left_out"] for one in found] == [["unheard"], []]
    for one, guest in zip(found, [{"Film 1": 5, "2": 1}, {"Film 9": 4}], strict=True):
        assert [row["item"] for row in one["items"]] == model.recommend(guest=guest, n=4)["item"].tolist()
    like = client.get("/similar", params={"item": "Film 2", "n": 3}).json()["items"]
    assert [row["item"] for row in like] == model.similar_items(2, n=3)["item"].tolist()

    why = client.post("/explain", {"user": "3", "item": "Film 4", "rules": True}).json()
    wanted = model.explain("3", "4")
    assert (why["sentence"], why["user"]) == (wanted.sentence, "3")
    assert sum(step["amount"] for step in why["steps"]) == pytest.approx(why[unit], abs=0.01)
    assert [rule["antecedent"] for rule in why["rules"]] == [reason.antecedent for reason in wanted.reasons]


WRONG = [
    ("/predict", b"{pairs", 422, "JSON decode error"),
    ("/predict", b'{"pairs": [["\xff", "milk"]]}', 400, ""),
    ("/predict", b"[" * 100_000, 400, ""),
    ("/predict", b'{"pairs": []}', 422, "pairs: List should have at least 1 item"),
    ("/predict", b'{"pairs": [["a", "b"]], "sql": 1}', 422, "sql: Extra inputs are not permitted"),
    ("/predict", b'{"pairs": [["%s", "4"]]}' % (b"a" * 501), 422, "pairs.0.0: String should have at most 500"),
    ("/predict", b'{"pairs": [%s["3", "4"]]}' % (b'["3", "4"], ' * 1000), 422, "at most 1000 items"),
    ("/predict", b'{"pairs": [["\\ud800", "4"]]}', 422, "pairs.0.0: Input should be a valid string"),
    ("/predict", b'{"pairs": [["3", "4"]], "\\ud800": 1}', 422, "the body: Input should be a valid string"),
    ("/predict", b" " * 1_000_001, 413, "1,000,000 bytes at most."),
    ("/recommend", b'{"guests": [{"\\ud800": 1}]}', 422, "guests.0"),
    ("/recommend", b'{"users": ["3"], "guests": [{"1": 1}]}', 422, "Give users or guests, one of the two."),
    ("/recommend", b'{"users": ["3"], "n": 100000}', 422, "n: Input should be less"),
    ("/recommend", b'{"users": ["unicorn"]}', 404, "The model has no data on user 'unicorn'."),
    ("/recommend", b'{"guests": [{"1": 7}]}', 422, "ratings lie between 0 and 5 here, got 7"),
    ("/recommend", b'{"guests": [{"1": 1e999}]}', 422, "guests.0.1"),
    ("/recommend", b'{"guests": [{"wheels": 1}]}', 404, "The model knows no item that was rated here"),
    ("/recommend", b'{"users": [%s"3"], "n": 21}' % (b'"3",' * 999), 422, "may hold 20,000 items"),
    ("/explain", b'{"user": "3", "item": "Film 44"}', 404, "no data on item 'Film 44'. Did you mean"),
]


@pytest.mark.parametrize(("path", "body", "status", "sentence"), WRONG)
def test_wrong_requests_are_answered_with_what_is_wrong(served, path, body, status, sentence):
    answer = served.post(path, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status
    assert sentence in answer.json()["error"]
    assert len(answer.json()["error"]) <= 500


#: Requests that are almost right, and others.
texts = st.sampled_from(["3", "4", "Film 4", "", "\ud800", 3]) | st.text(max_size=5) | st.none()
values = (
    texts | st.booleans() | st.floats() | st.lists(texts, max_size=3) | st.dictionaries(texts, st.floats(), max_size=2)
)
NAMES = ["pairs", "users", "guests", "user", "item", "n", "rules", "exclude_seen", "min_count", "\ud800"]
bodies = st.one_of(
    values,
    st.dictionaries(st.sampled_from(NAMES), values, max_size=4),
    st.fixed_dictionaries({"pairs": st.lists(st.tuples(texts, texts), max_size=3)}),
    st.fixed_dictionaries({"users": st.lists(texts, max_size=3), "n": st.integers(-1, 30)}),
    st.fixed_dictionaries({"guests": st.lists(st.dictionaries(texts, st.floats(-1, 6)), max_size=3)}),
    st.fixed_dictionaries({"user": texts, "item": texts, "rules": st.booleans()}),
)


@settings(max_examples=60)
@given(path=st.sampled_from(["/predict", "/recommend", "/explain"]), body=bodies)
def test_whatever_is_asked_is_answered_as_the_description_says(served, path, body):
    answer = served.post(path, content=json.dumps(body, skipkeys=True), headers={"content-type": "application/json"})
    answers = served.get("/openapi.json").json()["paths"][path]["post"]["responses"]
    assert str(answer.status_code) in answers
    assert answer.status_code == 200 or set(answer.json()) == {"error"}


def test_what_is_not_asked_as_it_should_be_is_said(served):
    assert (served.get("/nowhere").status_code, served.get("/nowhere").json()) == (404, {"error": "Not Found."})
    assert (served.get("/predict").status_code, served.get("/predict/").status_code) == (405, 404)
    form = served.post("/predict", content=b'{"pairs": [["3", "4"]]}')
    assert form.json() == {"error": "Send JSON, with the header Content-Type: application/json."}
    assert served.get("/similar", params={"item": "x" * 501}).status_code == 422

    async def endless():
        for _ in range(9):
            yield b" " * 50

    assert served.post("/predict", content=endless()).status_code == 413


def test_only_names_of_the_server_are_answered(served, own_model):
    """A page elsewhere may lead its name to this address; browsers tell the name."""
    other = Client(own_model, hosts="models.example.org, inside")
    for host in ("localhost", "localhost:8000", "127.0.0.1:8000", "[::1]:8000", "[::1]", "10.0.0.7"):
        assert served.get("/health", host=host).status_code == 200
    for host in ("evil.example", "evil.example:8000", "localhost.evil.example", "1.2.3.4.evil.example", "dead.beef"):
        assert (served.get("/health", host=host).status_code, other.get("/health", host=host).status_code) == (421, 421)
    assert [other.get("/health", host=host).status_code for host in ("INSIDE", "models.example.org:443")] == [200, 200]
    assert Client(own_model, hosts="*").get("/health", host="evil.example").status_code == 200


def test_a_token_is_asked_for_where_one_is_set_also_in_the_environment_of_an_embedded_app(own_model, monkeypatch):
    monkeypatch.setenv("KOLMOGOROV_TOKEN", "open sesame")
    client, pairs = Client(own_model), {"pairs": [["gull", "milk"]]}
    for wrong in ({}, {"authorization": "Bearer wrong"}, {"authorization": "open sesame"}):
        answer = client.post("/predict", pairs, headers=wrong)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert answer.json() == {"error": "Give the token: Authorization: Bearer TOKEN."}
    for scheme in ("Bearer", "bearer"):
        assert client.post("/predict", pairs, headers={"authorization": f"{scheme} open sesame"}).status_code == 200
    assert [client.get(path).status_code for path in ("/metrics", "/openapi.json", "/health")] == [401, 401, 200]
    assert "sesame" not in repr(serve.Settings(model=own_model))
    monkeypatch.setenv("KOLMOGOROV_TOKEN", "")
    monkeypatch.setenv("KOLMOGOROV_MODEL", str(own_model))
    monkeypatch.setenv("KOLMOGOROV_PORT", "9000")
    found = serve.Settings.model_validate({"workers": 2})
    assert (found.model, found.port, found.workers, found.token) == (own_model, 9000, 2, None)


def test_questions_for_rules_wait_for_each_other_and_for_nobody_else(served, monkeypatch):
    """Of eight one is computed at a time, others are told to come later, and pairs are predicted meanwhile."""
    right, going, most, together = serve._why, threading.Event(), [], []

    def slow(*given, rules):
        together.append(1)
        most.append(len(together))
        assert going.wait(60)
        together.pop()
        return right(*given, rules=rules)

    monkeypatch.setattr(serve, "_why", slow)

    async def asked():
        transport = httpx.ASGITransport(served.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as asking:
            heavy = {"user": "3", "item": "4", "rules": True}
            waiting = [asyncio.create_task(asking.post("/explain", json=heavy)) for _ in range(12)]
            while sum(task.done() for task in waiting) < 4:
                await asyncio.sleep(0.01)
            assert (await asking.post("/predict", json=PAIRS)).status_code == 200
            going.set()
            return [answer.status_code for answer in await asyncio.gather(*waiting)]

    assert sorted(asyncio.run(asked())) == [200] * 8 + [503] * 4
    assert max(most) == 1


def test_an_error_names_no_user_but_the_one_who_was_asked_for(tmp_path):
    people, films = ["ann@x.org", "bo@x.org", "cy@x.org"] * 2, ["Alien"] * 3 + ["Brazil"] * 3
    table = km.Observations.from_arrays(people, films, [1, 5, 4, 2, 3, 5], maximum=5)
    km.KolmogorovModel(2, learn_from="ratings", random_state=0).fit(table).save(tmp_path / "model.km")
    client = Client(tmp_path / "model.km")
    for path, ask in (("/recommend", {"users": ["ann@x.or"]}), ("/explain", {"user": "ann@x.or", "item": "Alien"})):
        assert client.post(path, ask).json() == {"error": "The model has no data on user 'ann@x.or'."}


def test_the_description_holds(served, own_model):
    schema, zoo = served.get("/openapi.json").json(), Client(own_model)
    assert list(schema["paths"]) == ["/predict", "/recommend", "/explain", "/similar", "/health", "/metrics"]
    for name in ("Predict", "Recommend", "Explain"):
        (example,) = schema["components"]["schemas"][name]["examples"]
        assert zoo.post(f"/{name.lower()}", example).status_code == 200
        answers = schema["paths"][f"/{name.lower()}"]["post"]["responses"]
        assert answers["422"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Problem"}
    assert "probability" in schema["components"]["schemas"]["Row"]["properties"]
    assert schema["paths"]["/predict"]["post"]["security"] == [{"HTTPBearer": []}]


def test_requests_are_counted_and_logged_without_naming_anybody(served, caplog):
    caplog.set_level("INFO", "uvicorn.error")
    served.post("/predict", {"pairs": [["walrus-in-person", "secret-thing"]]})
    served.get("/similar", params={"item": "secret-thing"})
    served.ask("BREW", "/predict")
    text = served.get("/metrics").text
    assert 'kolmogorov_request_seconds_count{method="POST",route="/predict",status="200"}' in text
    assert 'method="other",route="/predict",status="405"' in text
    assert "GET /similar 404" in caplog.text
    assert not {"walrus", "secret", "BREW"} & set((caplog.text + text).replace("-", " ").split())


def test_a_changed_file_is_taken_over_and_a_bad_one_is_not(own_model, zoo):
    holder, good = serve.Holder(serve.Settings(model=own_model)), own_model.read_bytes()
    first = holder.current
    holder.look()
    assert holder.current is first
    for rubbish in (b"rubbish", good[: len(good) // 2], b"", None, "pipe"):
        own_model.unlink()
        if rubbish == "pipe":
            os.mkfifo(own_model)
        elif rubbish is not None:
            own_model.write_bytes(rubbish)
        holder.look()
        assert holder.current is first
        assert "could not be loaded, so the old model is served" in holder.problem
        assert "model.km" in holder.problem
        assert str(own_model.parent) not in holder.problem
        own_model.unlink(missing_ok=True)
        own_model.write_bytes(b"other")
    km.KolmogorovModel(3, random_state=1).fit(zoo).save(own_model)
    holder.look()
    assert holder.problem == ""
    assert holder.current[1] != first[1]
