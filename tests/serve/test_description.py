"""The description of the API says what is answered; asked in this process."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

import kolmogorov as km
from kolmogorov.serve import forms
from kolmogorov.serve.app import app_of
from kolmogorov.serve.settings import Settings

QUESTIONS = {"/predict": forms.Predictions, "/recommend": forms.Lists, "/explain": forms.Explained}
LOOKUPS = {"/similar?item=milk": forms.Neighbours, "/events": forms.Events, "/items?q=m": forms.Items}


class Client:
    """Asks an application without any server."""

    def __init__(self, app):
        self._app = app

    def ask(self, method, path, **request):
        async def asked():
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
                return await client.request(method, path, **request)

        # In a thread of its own: where a browser is driven, this one has a loop already.
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: asyncio.run(asked())).result()

    def get(self, path, **request):
        return self.ask("GET", path, **request)

    def head(self, path):
        return self.ask("HEAD", path)

    def post(self, path, **request):
        return self.ask("POST", path, **request)


@pytest.fixture(scope="module")
def client(zoo_model):
    return Client(app_of(Settings(str(zoo_model))))


@pytest.fixture(scope="module")
def schema(client):
    return client.get("/openapi.json").json()


def test_answers_are_as_described(client, schema):
    for path, kind in QUESTIONS.items():
        for example in schema["components"]["schemas"][path[1:].capitalize()]["examples"]:
            kind.model_validate(client.post(path, json=example).json())
    for path, kind in LOOKUPS.items():
        kind.model_validate(client.get(path).json())
    forms.Health.model_validate(client.get("/health").json())


def test_the_answers_of_lists_and_draws_are_as_described(zoo, tmp_path):
    models = {
        "lists": km.ListModel(3, ridge=5.0, growth=0.0, balance=0.5, unobserved=0.1, random_state=0),
        "draws": km.BayesianKolmogorovModel(3, n_chains=2, burn_in=5, n_samples=3, random_state=0),
    }
    for name, model in models.items():
        model.fit(zoo).save(tmp_path / f"{name}.km")
        client = Client(app_of(Settings(str(tmp_path / f"{name}.km"))))
        for ask in ({"users": ["gull"], "exclude_seen": False}, {"guests": [{"milk": 1, "eggs": 1}]}):
            forms.Lists.model_validate(client.post("/recommend", json=ask).json())
        why = client.post("/explain", json={"user": "gull", "item": "eggs"}).json()
        forms.Explained.model_validate(why)
        pair = client.post("/predict", json={"pairs": [["gull", "eggs"]]}).json()
        forms.Predictions.model_validate(pair)


def test_every_answer_has_a_schema_whose_examples_hold(schema):
    for kind in (*QUESTIONS.values(), *LOOKUPS.values(), forms.Health, forms.Problem):
        for example in kind.model_config["json_schema_extra"]["examples"]:
            kind.model_validate(example)
        assert schema["components"]["schemas"][kind.__name__]["examples"]


def test_statuses_and_the_token_are_described(schema, zoo_model):
    problem = {"$ref": "#/components/schemas/Problem"}
    for path in QUESTIONS:
        answers = schema["paths"][path]["post"]["responses"]
        assert set(answers) == {"200", "400", "401", "404", "408", "413", "415", "422", "431", "503"}
        assert all(
            answer["content"]["application/json"]["schema"] == problem
            for status, answer in answers.items()
            if status != "200"
        )
    assert "304" in schema["paths"]["/events"]["get"]["responses"]
    assert schema["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
    assert schema["paths"]["/predict"]["post"]["security"] == [{"bearer": []}, {}]
    assert "security" not in schema["paths"]["/health"]["get"]
    assert "HTTPValidationError" not in schema["components"]["schemas"]
    client = Client(app_of(Settings(str(zoo_model)), "secret"))
    asked = client.get("/openapi.json", headers={"authorization": "bearer secret"}).json()
    assert asked["paths"]["/predict"]["post"]["security"] == [{"bearer": []}]


def test_heads_tags_and_addresses(client):
    for path in ("/", "/events", "/health", "/items", "/metrics", "/openapi.json"):
        head, whole = client.head(path), client.get(path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-type"] == whole.headers["content-type"]
    assert client.head("/predict").status_code == 405
    tag = client.get("/events").headers["etag"]
    for has in ("*", tag, f"W/{tag}", f'"other", {tag}'):
        assert client.get("/events", headers={"if-none-match": has}).status_code == 304
    assert client.get("/events", headers={"if-none-match": '"other"'}).status_code == 200
    slashed = client.get("/events/", headers={"host": "evil.example"})
    assert (slashed.status_code, slashed.json()) == (404, {"error": "Not Found."})


WRONG = [
    ("/recommend", {"guests": [{"milk": True}]}, "guests.0.milk: Input should be a valid number"),
    ("/recommend", {"guests": [{"milk": "1"}]}, "guests.0.milk: Input should be a valid number"),
    ("/recommend", {"users": [True]}, "users.0: an id is a text, or a whole number of 64 bits"),
    ("/recommend", {"users": [2**63]}, "users.0: an id is a text, or a whole number of 64 bits"),
    ("/predict", {"pairs": [["a" * 501, 1]]}, "pairs.0.0: an id or a title has 500 letters at most"),
    (
        "/recommend",
        {"users": ["gull"] * 1000, "n": 21},
        "users or guests times n: 20,000 at most, got 1,000 x 21. Ask for fewer of them at a time, or for shorter "
        "lists.",
    ),
]


@pytest.mark.parametrize(("path", "body", "sentence"), WRONG)
def test_wrong_requests_are_told_in_plain_words(client, path, body, sentence):
    answer = client.post(path, json=body)
    assert (answer.status_code, answer.json()) == (422, {"error": sentence})
