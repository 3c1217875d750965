"""The API, asked in this process: its answers are the model's, and what is wrong is said in one sentence."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest

import kolmogorov as km
from kolmogorov import serve

KINDS = ("one", "draws", "lists")
PAIRS = {"pairs": [["3", "4"]]}


class Client:
    """Asks an application without any server."""

    def __init__(self, path, **settings):
        self._app = serve.create_app(serve.Settings(model=path, **settings))

    def ask(self, method, path, **request):
        async def asked():
            async with httpx.AsyncClient(transport=httpx.ASGITransport(self._app), base_url="http://here") as client:
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
def client(films):
    return films["one"][1]


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_the_models(films, kind):
    model, client = films[kind]
    ask = {"pairs": [["3", "4"], [3, "Film 4"], ["999", "4"], ["nobody", "nothing"]]}
    answer = client.post("/predict", ask)
    found = answer.json()["predictions"]
    number = "score" if kind == "lists" else "probability"
    said = model.predict(["3", "999"], ["4", "4"], unknown="ignore", output="probability")
    assert found[0][number] == found[1][number] == pytest.approx(said[0])
    assert found[2][number] == pytest.approx(said[1])
    assert [one["known"] for one in found] == [True, True, False, False]
    if kind == "lists":
        assert "rating" not in found[0]
    else:
        assert found[0]["rating"] == pytest.approx(model.predict("3", "4", output="rating"))
    strict = client.post("/predict", ask | {"strict": True})
    assert (strict.status_code, strict.json()) == (404, {"error": "The model has no data on user '999'."})
    assert answer.headers["etag"] == f'"{client.get("/health").json()["tag"]}"'


@pytest.mark.parametrize("kind", KINDS)
def test_lists_are_the_models(films, kind):
    model, client = films[kind]
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


@pytest.mark.parametrize("kind", KINDS)
def test_explanations_are_the_models(films, kind):
    model, client = films[kind]
    why = client.post("/explain", {"user": "3", "item": "Film 4", "rules": True}).json()
    wanted = model.explain("3", "4")
    assert (why["sentence"], why["user"]) == (wanted.sentence, "3")
    assert sum(step["amount"] for step in why["steps"]) == pytest.approx(
        why["score" if kind == "lists" else "rating"], abs=0.01
    )
    assert [rule["known"] for rule in why["rules"]] == [reason.antecedent for reason in wanted.reasons]


WRONG = [
    ("/predict", b"{pairs", 422, "JSON decode error"),
    ("/predict", b'{"pairs": [["\xff", "milk"]]}', 400, ""),
    ("/predict", b"[" * 100_000, 400, ""),
    ("/predict", b"", 422, "Field required"),
    ("/predict", b'{"pairs": []}', 422, "pairs: List should have at least 1 item"),
    ("/predict", b'{"pairs": [["a", "b"]], "sql": 1}', 422, "sql: Extra inputs are not permitted"),
    ("/predict", b'{"pairs": [["%s", "4"]]}' % (b"a" * 501), 422, "pairs.0.0: String should have at most 500"),
    ("/predict", b'{"pairs": [%s["3", "4"]]}' % (b'["3", "4"], ' * 1000), 422, "pairs: 1,000 at most, got 1,001."),
    ("/predict", b" " * 1_000_001, 413, "A request may have 1,000,000 bytes."),
    ("/recommend", b'{"users": ["3"], "guests": [{"1": 1}]}', 422, "Give users or guests, one of the two."),
    ("/recommend", b'{"users": ["3"], "n": 100000}', 422, "n: 1,000 at most, got 100,000."),
    ("/recommend", b'{"users": ["3"], "n": 0}', 422, "n: Input should be greater"),
    ("/recommend", b'{"users": ["unicorn"]}', 404, "The model has no data on user 'unicorn'."),
    ("/recommend", b'{"guests": [{"1": 7}]}', 422, "ratings lie between 0 and 5 here, got 7"),
    ("/recommend", b'{"guests": [{"1": "x"}]}', 422, "guests.0.1: Input should be a valid number"),
    ("/recommend", b'{"guests": [{"1": 1e999}]}', 422, "guests.0.1"),
    ("/recommend", b'{"guests": [{"wheels": 1}]}', 404, "The model knows no item that was rated here"),
    ("/recommend", b'{"users": [%s"3"], "n": 21}' % (b'"3",' * 999), 422, "users or guests times n: 20,000 at most"),
    ("/explain", b'{"item": "4"}', 422, "user: Field required"),
    ("/explain", b'{"user": "3", "item": "Film 44"}', 404, "no data on item 'Film 44'. Did you mean"),
]


@pytest.mark.parametrize(("path", "body", "status", "sentence"), WRONG)
def test_wrong_requests_are_answered_with_what_is_wrong(client, path, body, status, sentence):
    answer = client.post(path, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status
    assert sentence in answer.json()["error"]
    assert len(answer.json()["error"]) <= 500


def test_what_is_not_asked_as_it_should_be_is_said(client):
    assert (client.get("/nowhere").status_code, client.get("/nowhere").json()) == (404, {"error": "Not Found."})
    assert (client.get("/predict").status_code, client.get("/predict/").status_code) == (405, 404)
    form = client.post("/predict", content=b'{"pairs": [["3", "4"]]}')
    assert form.json() == {"error": "Send JSON, with the header Content-Type: application/json."}
    assert client.get("/similar", params={"item": "x" * 501}).status_code == 422


def test_limits_are_settings(films, tmp_path):
    films["one"][0].save(tmp_path / "model.km")
    client = Client(tmp_path / "model.km", most_bytes=100, most_listed=2)
    assert client.post("/recommend", {"users": ["3"], "n": 3}).json()["error"].startswith("n: 2 at most")
    assert client.post("/predict", {"pairs": [["3", "4"]] * 9}).status_code == 413
    assert client.post("/predict", PAIRS).status_code == 200

    async def endless():
        for _ in range(9):
            yield b" " * 50

    assert client.post("/predict", content=endless()).status_code == 413


def test_a_token_is_asked_for_where_one_is_set(films, tmp_path):
    films["one"][0].save(tmp_path / "model.km")
    client = Client(tmp_path / "model.km", token="open sesame")
    for wrong in ({}, {"authorization": "Bearer wrong"}, {"authorization": "open sesame"}):
        answer = client.post("/predict", PAIRS, headers=wrong)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert answer.json() == {"error": "Give the token: Authorization: Bearer TOKEN."}
    for scheme in ("Bearer", "bearer"):
        right = {"authorization": f"{scheme} open sesame"}
        assert client.post("/predict", PAIRS, headers=right).status_code == 200
    assert [client.get(path).status_code for path in ("/metrics", "/openapi.json", "/health")] == [401, 401, 200]


def test_settings_come_from_the_environment_too(monkeypatch, tmp_path):
    monkeypatch.setenv("KOLMOGOROV_MODEL", str(tmp_path / "model.km"))
    monkeypatch.setenv("KOLMOGOROV_PORT", "9000")
    monkeypatch.setenv("KOLMOGOROV_TOKEN", "")
    found = serve.Settings.model_validate({"workers": 2})
    assert (found.model, found.port, found.workers, found.token) == (tmp_path / "model.km", 9000, 2, None)
    assert "sesame" not in repr(serve.Settings(model="model.km", token="sesame"))


def test_an_error_names_no_user_but_the_one_who_was_asked_for(tmp_path):
    people, films = ["ann@x.org", "bo@x.org", "cy@x.org"] * 2, ["Alien"] * 3 + ["Brazil"] * 3
    table = km.Observations.from_arrays(people, films, [1, 5, 4, 2, 3, 5], maximum=5)
    km.KolmogorovModel(2, learn_from="ratings", random_state=0).fit(table).save(tmp_path / "model.km")
    client = Client(tmp_path / "model.km")
    for path, ask in (("/recommend", {"users": ["ann@x.or"]}), ("/explain", {"user": "ann@x.or", "item": "Alien"})):
        assert client.post(path, ask).json() == {"error": "The model has no data on user 'ann@x.or'."}


def test_the_description_holds(client, zoo_model):
    schema = Client(zoo_model).get("/openapi.json").json()
    assert list(schema["paths"]) == ["/predict", "/recommend", "/explain", "/similar", "/health", "/metrics"]
    for name in ("Predict", "Recommend", "Explain"):
        for example in schema["components"]["schemas"][name]["examples"]:
            assert Client(zoo_model).post(f"/{name.lower()}", example).status_code == 200
        answers = schema["paths"][f"/{name.lower()}"]["post"]["responses"]
        assert set(answers) == {"200", "401", "404", "413", "422"}
        problem = {"$ref": "#/components/schemas/Problem"}
        assert answers["422"]["content"]["application/json"]["schema"] == problem
    assert schema["paths"]["/predict"]["post"]["security"] == [{"HTTPBearer": []}]
    assert "security" not in schema["paths"]["/health"]["get"]


def test_requests_are_counted_and_logged_without_naming_anybody(client, caplog):
    caplog.set_level("INFO", "uvicorn.error")
    client.post("/predict", {"pairs": [["walrus-in-person", "secret-thing"]]})
    client.get("/similar", params={"item": "secret-thing"})
    client.ask("BREW", "/predict")
    text = client.get("/metrics").text
    assert 'kolmogorov_request_seconds_count{method="POST",route="/predict",status="200"}' in text
    assert 'method="other",route="/predict",status="405"' in text
    assert "kolmogorov_model_failing 0.0" in text
    assert "GET /similar 404" in caplog.text
    assert not {"walrus", "secret", "BREW"} & set((caplog.text + text).replace("-", " ").split())


# --- the file ---------------------------------------------------------------------------------------------------------


def test_a_changed_file_is_taken_over_and_a_bad_one_is_not(own_model, zoo):
    holder, good = serve.Holder(serve.Settings(model=own_model)), own_model.read_bytes()
    first = holder.current
    holder.look()
    assert holder.current is first
    for rubbish in (b"rubbish", good[: len(good) // 2], b"", None):
        own_model.unlink()
        if rubbish is not None:
            own_model.write_bytes(rubbish)
        holder.look()
        assert holder.current is first
        assert "could not be loaded, so the old model is served" in holder.problem
        assert "model.km" in holder.problem
        assert str(own_model.parent) not in holder.problem
        own_model.write_bytes(b"other")
    km.KolmogorovModel(3, random_state=1).fit(zoo).save(own_model)
    holder.look()
    assert holder.problem is None
    assert holder.current[1] != first[1]


def test_a_pipe_in_the_place_of_the_model_is_not_waited_for(own_model):
    os = pytest.importorskip("os")
    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes with names here")
    holder = serve.Holder(serve.Settings(model=own_model))
    own_model.unlink()
    os.mkfifo(own_model)
    holder.look()
    assert holder.problem.endswith("model.km is no regular file.")
