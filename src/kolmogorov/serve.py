"""A model as a service: `kolmogorov serve`, or `create_app` in any server for ASGI. Needs the extra `serve`."""

# ruff: noqa: D101 (what a field or a route means is said where clients of the API read it)

import asyncio
import hashlib
import hmac
import logging
import os
import signal
import socket
import tempfile
import time
import warnings
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import anyio.to_thread
import numpy as np
import uvicorn
from fastapi import Depends, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.security import HTTPBearer
from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict
from starlette.exceptions import HTTPException
from uvicorn.protocols.http.h11_impl import H11Protocol

from kolmogorov import __version__
from kolmogorov.errors import DataError, KolmogorovError, UnknownIdError, UnknownIdWarning
from kolmogorov.interpret.explanation import explain
from kolmogorov.models.ids import observations_of
from kolmogorov.models.lists import ListModel
from kolmogorov.models.loading import load
from kolmogorov.models.ranking import predicted_columns

#: How many times the longest list the lists of one request may hold together; seconds for requests under way when the
#: server is stopped. By judgement.
_LISTS, _GRACE = 20, 10
#: Upper ends of the bins of times, in seconds.
_BINS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
#: The folder in which workers add up what they count; prometheus_client reads the variable.
_COUNTS = "PROMETHEUS_MULTIPROC_DIR"
_LOG = logging.getLogger("uvicorn.error")


class Settings(BaseSettings):
    """What a server is told: by name, or by variables such as KOLMOGOROV_MODEL and KOLMOGOROV_TOKEN."""

    model_config = SettingsConfigDict(env_prefix="KOLMOGOROV_", env_ignore_empty=True)
    model: Path
    titles: Path | None = None
    token: SecretStr | None = None
    host: str = "127.0.0.1"
    port: int = Field(8000, ge=0, le=65535)
    workers: int = Field(1, ge=1, le=64)
    most_bytes: int = Field(1_000_000, ge=1)
    most_listed: int = Field(1_000, ge=1)
    #: Requests that a worker computes at a time, and seconds between two looks at the file.
    threads: int = Field(4, ge=1)
    pause: float = Field(1.0, gt=0.0)


# --- what is asked and answered --------------------------------------------------------------------------------------

Text = Annotated[str, Field(max_length=500)]
#: A text, or a whole number, which is looked up by its text.
Id = Annotated[Text, BeforeValidator(lambda given: str(given) if type(given) is int else given)]
#: A number as JSON writes it: neither true nor a text.
Rating = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=1)]


def _like(*examples: Any) -> ConfigDict:
    return ConfigDict(extra="forbid", json_schema_extra={"examples": list(examples)})


class Predict(BaseModel):
    model_config = _like({"pairs": [["dolphin", "milk"], ["gull", "eggs"]]})
    pairs: list[tuple[Id, Id]] = Field(min_length=1)
    strict: bool = Field(False, description="Whether an unknown id is an error; if not, it is an average one.")


class Recommend(BaseModel):
    model_config = _like({"users": ["dolphin"], "n": 3}, {"guests": [{"milk": 1, "eggs": 0}], "n": 3})
    users: list[Id] | None = Field(None, min_length=1)
    guests: list[dict[Text, Rating]] | None = Field(
        None, min_length=1, description="In place of users: ratings by ids or titles of items, of each guest."
    )
    n: Count = 10
    exclude_seen: bool = Field(True, description="Leave out what a user was observed with.")
    min_count: Count | None = Field(None, description="Leave out items observed fewer times.")


class Explain(BaseModel):
    model_config = _like({"user": "dolphin", "item": "milk", "rules": False})
    user: Id
    item: Id
    rules: bool = Field(False, description="Also count the rules that lead to it, which goes over the whole table.")


class Row(BaseModel):
    item: str
    user: str | None = None
    title: str | None = None
    known: bool | None = Field(None, description="Whether the model knows both; if not, the unknown is average.")
    probability: float | None = None
    rating: float | None = None
    score: float | None = Field(None, description="Of a model of lists, in place of the other two.")
    lower: float | None = Field(None, description="What nine draws in ten exceed, of a model of draws.")
    similarity: float | None = None
    count: int | None = Field(None, description="Observations of the item.")


class Predictions(BaseModel):
    predictions: list[Row]


class List(BaseModel):
    user: str | None = None
    items: list[Row]
    left_out: list[str] | None = Field(None, description="What a guest rated and the model does not know.")


class Lists(BaseModel):
    lists: list[List]


class Explained(Row):
    sentence: str
    steps: list[dict[str, Any]] = Field(
        description="Name and amount; they add up to the rating, of lists to the score."
    )
    rules: list[dict[str, Any]]


class Health(BaseModel):
    status: str = Field(description="ok; or stale, where the file has changed and the old model is served.")
    problem: str | None = Field(None, description="Why the new file is not served.")
    tag: str = Field(description="Of the model, as in the header ETag of answers.")
    since: float = Field(description="When the model was loaded, in seconds since 1970.")
    worker: int = Field(description="The process that answers.")
    model: str
    users: int
    items: int
    ratings: int


class Problem(BaseModel):
    error: str = Field(description="What is wrong, in one sentence.")


# --- what a model answers, as plain data ------------------------------------------------------------------------------


def _records(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    lists = [np.asarray(column).tolist() for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def _rows(model: Any, given: Sequence[str], what: str) -> Any:
    """Return row numbers of ids or titles, -1 for what the model has no data on; a title that several have is none."""
    fitted, texts = model.fitted_, []
    names, known = (fitted.users, fitted.user_known) if what == "user" else (fitted.items, fitted.item_known)
    for text in given:
        with suppress(UnknownIdError):
            text = names.parse(text)
        texts.append(text)
    rows = names.rows_of(texts)
    return np.where((rows >= 0) & known[rows], rows, -1)


def _id(model: Any, given: str, what: str) -> str:
    """Return the id of a user or an item; an error names nobody but who was asked for, and items like a wrong one."""
    names, row = model.users_ if what == "user" else model.items_, _rows(model, [given], what)[0]
    if row < 0:
        near = "" if what == "user" else names.suggestion(given)
        raise UnknownIdError(f"The model has no data on {what} {given!r}.{near}")
    return str(names.ids[row])


def predicted(model: Any, pairs: Sequence[tuple[str, str]], *, strict: bool = False) -> list[dict[str, Any]]:
    """Return what is predicted of each pair; the unknown is average, and marked."""
    fitted, names = model.fitted_, list(zip(*pairs, strict=True))
    users, items = _rows(model, names[0], "user"), _rows(model, names[1], "item")
    known = (users >= 0) & (items >= 0)
    if strict and not known.all():
        at = int(np.argmin(known))
        _id(model, pairs[at][0], "user")
        _id(model, pairs[at][1], "item")
    users, items = np.where(users < 0, len(fitted.users), users), np.where(items < 0, len(fitted.items), items)
    said = predicted_columns(fitted, fitted.at_rows(users, items))
    return _records({"user": names[0], "item": names[1], **said, "known": known})


def recommended(model: Any, users: Sequence[str], n: int, **options: Any) -> list[dict[str, Any]]:
    """Return the list of each user; one who is named several times is asked for once."""
    ids = [_id(model, user, "user") for user in users]
    lists: dict[str, list[dict[str, Any]]] = {user: [] for user in ids}
    for row in _records(model._asked(list(lists), n, **options)):
        lists[row.pop("user")].append(row)
    return [{"user": user, "items": lists[own]} for user, own in zip(users, ids, strict=True)]


def recommended_to_guests(
    model: Any, guests: Sequence[Mapping[str, float]], n: int, **options: Any
) -> list[dict[str, Any]]:
    """Return the list of each guest, and which of their items the model does not know."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownIdWarning)
        columns = model._asked(observations_of(model.fitted_, guests), n, **options)
    lists: list[dict[str, Any]] = [{"items": [], "left_out": []} for _ in guests]
    for one, ratings in zip(lists, guests, strict=True):
        rows = model.items_.rows_of(map(model.items_.parse, ratings))
        one["left_out"] = [item for item, row in zip(ratings, rows, strict=True) if row < 0]
    for row in _records(columns):
        lists[int(row.pop("user"))]["items"].append(row)
    return lists


def explained(model: Any, user: str, item: str, *, rules: bool = False) -> dict[str, Any]:
    """Return what everybody would get, and what sets this user's prediction apart, step by step."""
    pair = _id(model, user, "user"), _id(model, item, "item")
    if isinstance(model, ListModel):
        why: Any = model.explain(*pair)
    else:
        why = explain(model.fitted_, model._one_model, *pair, with_reasons=rules)
    steps = [{"name": name, "amount": float(amount)} for name, amount in why.steps]
    reasons = [
        {"known": one.antecedent, "so": one.consequent, "held": one.held, "of": one.support, "base_rate": one.base_rate}
        for one in why.reasons
    ]
    return {"user": user, "item": item, "sentence": why.sentence, **why.said, "steps": steps, "rules": reasons}


# --- the model that is served -----------------------------------------------------------------------------------------


class Holder:
    """Holds the model that answers. A changed file is loaded and tried beside it; a bad one leaves the old one there.

    A request takes `current` once: it keeps the model that it began with.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings, self._seen = settings, self._looks(settings.model)
        self.problem: str | None = None
        while True:
            try:
                self.current = self._loaded()
                return
            except (KolmogorovError, OSError, ValueError) as error:
                # A worker that is started again may find rubbish there; the others answer.
                if _COUNTS not in os.environ:
                    raise
                _LOG.error("waiting for a model: %s", error)
                time.sleep(settings.pause)

    def look(self) -> None:
        """Take over the file where it has changed."""
        path = self._settings.model
        if (seen := self._looks(path)) == self._seen:
            return
        self._seen = seen
        try:
            self.current = self._loaded()
            self.problem = None
        except Exception as error:
            # /health is open to everybody: it says neither where the file lies nor what an unforeseen error holds.
            expected = isinstance(error, (KolmogorovError, OSError, ValueError))
            why = str(error).replace(f"{path.parent}{os.sep}", "") if expected else type(error).__name__
            self.problem = f"The file has changed and could not be loaded, so the old model is served: {why}"
            _LOG.error(self.problem)

    def _loaded(self) -> tuple[Any, str, float]:
        """Return the model, a digest of its file, and when that was."""
        path = self._settings.model
        if path.exists() and not path.is_file():
            # Opening a pipe would wait for somebody who writes into it.
            raise DataError(f"{path} is no regular file.")
        with open(path, "rb") as file:
            tag = hashlib.file_digest(file, "sha256").hexdigest()[:32]
        return _tried(load(path).with_titles(items=self._settings.titles)), tag, time.time()

    @staticmethod
    def _looks(path: Path) -> tuple[int, int, int] | None:
        """Return what changes when a file is replaced or written to; None where there is none."""
        try:
            found = os.stat(path)
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns


def _tried(model: Any) -> Any:
    """Return a model after it has answered once: what it makes at first use is there before anybody waits for it."""
    fitted = model.fitted_
    user, item = str(fitted.users.ids[fitted.user_seen][0]), str(fitted.items.ids[fitted.item_seen][0])
    predicted(model, [(user, item)])
    recommended(model, [user], 1)
    recommended_to_guests(model, [{item: fitted.scale.maximum}], 1)
    model._similar_columns(item, 1)
    explained(model, user, item)
    return model


# --- the application --------------------------------------------------------------------------------------------------


class _Gate:
    """What every request passes: the token, the limit of size, the log and the counts, which name nobody."""

    def __init__(self, app: Any, settings: Settings, seconds: Histogram) -> None:
        self._app, self._limit, self._seconds = app, settings.most_bytes, seconds
        self._token = None if settings.token is None else settings.token.get_secret_value().encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, size = time.perf_counter(), 0, 0

        async def limited() -> Any:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._limit:
                raise HTTPException(413, f"A request may have {self._limit:,} bytes")
            return message

        async def noted(message: Any) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            if self._token is None or scope["path"] == "/health" or self._shows(scope, self._token):
                await self._app(scope, limited, noted)
            else:
                wanted = {"error": "Give the token: Authorization: Bearer TOKEN."}
                await JSONResponse(wanted, 401, {"www-authenticate": "Bearer"})(scope, receive, noted)
        finally:
            # Neither the address nor what was asked for: only which of the routes. Status 0: the client has gone.
            route, took = getattr(scope.get("route"), "path", "other"), time.perf_counter() - began
            method = scope["method"] if scope["method"] in ("GET", "POST") else "other"
            self._seconds.labels(method, route, status).observe(took)
            _LOG.info("%s %s %d %.1f ms", method, route, status, 1000.0 * took)

    @staticmethod
    def _shows(scope: Any, token: bytes) -> bool:
        scheme, _, shown = dict(scope["headers"]).get(b"authorization", b"").partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(shown.strip(), token)


async def _problem(request: Request, error: Any) -> JSONResponse:
    """Answer an error as one sentence; what was sent is not sent back: it may be anything, of any length."""
    status, sentence = 404 if isinstance(error, UnknownIdError) else 422, str(error)
    if isinstance(error, HTTPException):
        status, sentence = error.status_code, f"{error.detail}."
    elif isinstance(error, RequestValidationError):
        wrong = [(".".join(map(str, found["loc"][1:])) or "the body", found["msg"]) for found in error.errors()[:3]]
        sentence = "; ".join(f"{place}: {why}" for place, why in wrong)
        if request.method == "POST" and "json" not in request.headers.get("content-type", ""):
            sentence = "Send JSON, with the header Content-Type: application/json."
    return JSONResponse({"error": sentence[:500]}, status)


_ERRORS: Any = (HTTPException, RequestValidationError, KolmogorovError)
#: What may be answered beside 200.
_PROBLEMS: Any = {
    401: {"model": Problem, "description": "The token is missing or wrong."},
    404: {"model": Problem, "description": "The model has no data on a user or an item."},
    413: {"model": Problem, "description": "The request has too many bytes."},
    422: {"model": Problem, "description": "The request is of another form, or asks for too much at a time."},
}


def create_app(settings: Settings | None = None) -> FastAPI:
    """Return the application, told by settings or by the environment."""
    settings = settings or Settings.model_validate({})
    holder, most, registry = Holder(settings), settings.most_listed, CollectorRegistry()
    labels = ("method", "route", "status")
    seconds = Histogram("kolmogorov_request_seconds", "Time to answer.", labels, registry=registry, buckets=_BINS)
    latest: Any = {"registry": registry, "multiprocess_mode": "mostrecent"}
    failing = Gauge("kolmogorov_model_failing", "Whether the file has changed and could not be loaded.", **latest)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async def watch() -> None:
            while True:
                await asyncio.sleep(settings.pause)
                await asyncio.to_thread(holder.look)
                failing.set(holder.problem is not None)

        anyio.to_thread.current_default_thread_limiter().total_tokens = settings.threads
        watching = asyncio.create_task(watch())
        yield
        watching.cancel()

    # Pages of documentation would load scripts from elsewhere; a redirection goes to whatever host a request names.
    away: Any = {"docs_url": None, "redoc_url": None, "redirect_slashes": False}
    what = "Predictions of a Kolmogorov model, and why they are what they are."
    told: Any = {"title": "kolmogorov", "version": __version__, "summary": what, "responses": _PROBLEMS}
    api = FastAPI(**told, **away, lifespan=lifespan, exception_handlers=dict.fromkeys(_ERRORS, _problem))
    api.add_middleware(_Gate, settings=settings, seconds=seconds)
    guarded: Any = {"response_model_exclude_none": True, "dependencies": [Depends(HTTPBearer(auto_error=False))]}

    def serving(response: Response) -> Any:
        model, tag, _ = holder.current
        response.headers["etag"] = f'"{tag}"'
        return model

    def check(what: str, count: int, limit: int = most) -> None:
        if count > limit:
            raise DataError(f"{what}: {limit:,} at most, got {count:,}. Ask for less at a time.")

    Model = Annotated[Any, Depends(serving)]
    Few = Annotated[int, Query(ge=1, le=most)]

    @api.post("/predict", summary="Probabilities and ratings of pairs", **guarded)
    def predict(asked: Predict, model: Model) -> Predictions:
        check("pairs", len(asked.pairs))
        return Predictions.model_validate({"predictions": predicted(model, asked.pairs, strict=asked.strict)})

    @api.post("/recommend", summary="Lists for known users, or for guests by their ratings", **guarded)
    def recommend(asked: Recommend, model: Model) -> Lists:
        if (asked.users is None) == (asked.guests is None):
            raise DataError("Give users or guests, one of the two.")
        whom: Sequence[Any] = asked.users or asked.guests or ()
        check("n", asked.n)
        check("users or guests", len(whom))
        check("users or guests times n", len(whom) * asked.n, _LISTS * most)
        answer = recommended if asked.users else recommended_to_guests
        found = answer(model, whom, asked.n, exclude_seen=asked.exclude_seen, min_count=asked.min_count)
        return Lists.model_validate({"lists": found})

    @api.post("/explain", summary="Why a prediction is what it is", **guarded)
    def explain(asked: Explain, model: Model) -> Explained:
        return Explained.model_validate(explained(model, asked.user, asked.item, rules=asked.rules))

    @api.get("/similar", summary="Items most like one", **guarded)
    def similar(item: Text, model: Model, n: Few = 10) -> List:
        return List.model_validate({"items": _records(model._similar_columns(_id(model, item, "item"), n))})

    @api.get("/health", summary="Whether the server answers, and with which model", response_model_exclude_none=True)
    async def health() -> Health:
        (model, tag, since), problem = holder.current, holder.problem
        sizes: Any = {"users": len(model.users_), "items": len(model.items_), "ratings": len(model.fitted_.training)}
        state: Any = {"status": "stale" if problem else "ok", "problem": problem, "tag": tag, "since": since}
        return Health(**state, **sizes, worker=os.getpid(), model=type(model).__name__)

    @api.get("/metrics", summary="Counts and times, for Prometheus", **guarded, response_class=PlainTextResponse)
    def metrics() -> PlainTextResponse:
        found = registry
        if _COUNTS in os.environ:
            MultiProcessCollector(found := CollectorRegistry())
        return PlainTextResponse(generate_latest(found), media_type="text/plain; version=0.0.4")

    return api


class Prompt(H11Protocol):
    """Connections that send at once: on a socket that workers share, the body would wait 40 ms for word of the head."""

    def connection_made(self, transport: Any) -> None:
        """Begin a connection."""
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)


def run(settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM; requests under way are answered first."""
    told = settings.model_dump(mode="json", exclude_none=True, exclude={"token"})
    os.environ.update({f"KOLMOGOROV_{name.upper()}": str(value) for name, value in told.items()})
    limits: Any = {"limit_concurrency": 1_000, "timeout_graceful_shutdown": _GRACE}
    quiet: Any = {"access_log": False, "server_header": False, "ws": "none"}
    where: Any = {"host": settings.host, "port": settings.port, "workers": settings.workers}
    # A worker that imports and loads on a busy machine is not dead: what it is made of goes by names, and it has time.
    limits |= {"http": "kolmogorov.serve:Prompt", "timeout_worker_healthcheck": 60}
    # uvicorn raises the signal again that ended it, which is no error.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as counts, suppress(KeyboardInterrupt):
        if settings.workers > 1:
            os.environ[_COUNTS] = counts
        uvicorn.run("kolmogorov.serve:create_app", factory=True, **where, **limits, **quiet)
