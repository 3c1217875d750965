"""A model as a service: `kolmogorov serve`, or `create_app` in any server for ASGI. Needs the extra `serve`."""

# ruff: noqa: D101, UP013 (what a field or a route means is said where clients of the API read it)

import asyncio
import hmac
import logging
import os
import re
import signal
import socket
import tempfile
import time
import warnings
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import anyio.to_thread
import numpy as np
import uvicorn
from fastapi import Depends, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.security import HTTPBearer
from prometheus_client import REGISTRY, CollectorRegistry, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from pydantic import BaseModel, BeforeValidator, Field, SecretStr
from pydantic_settings import BaseSettings
from starlette.exceptions import HTTPException
from typing_extensions import TypedDict  # of `typing`, from Python 3.12 on
from uvicorn.protocols.http.h11_impl import H11Protocol

from kolmogorov import __version__
from kolmogorov.errors import DataError, KolmogorovError, KolmogorovWarning, UnknownIdError
from kolmogorov.interpret.explanation import explain
from kolmogorov.models.ids import observations_of, pair_rows
from kolmogorov.models.lists import ListModel
from kolmogorov.models.loading import load
from kolmogorov.models.ranking import predicted_columns

#: At most, by judgement: bytes of a request, things asked for in one, items of all its lists; requests that a worker
#: computes at a time, and heavy questions that may wait.
_BYTES, _MOST, _LISTED, _THREADS, _WAITING = 1_000_000, 1_000, 20_000, 4, 8
#: Seconds to take an answer, for requests under way when the server is stopped, and between two looks at the file.
_SLOWEST, _GRACE, _PAUSE = 30, 10, 1.0
_COUNTS = "PROMETHEUS_MULTIPROC_DIR"  # the folder in which workers add up what they count
_SECONDS = Histogram("kolmogorov_request_seconds", "Time to answer.", ("method", "route", "status"))
_LOG = logging.getLogger("uvicorn.error")


class Settings(BaseSettings, env_prefix="KOLMOGOROV_", env_ignore_empty=True):
    """What a server is told: by name, or by variables such as KOLMOGOROV_MODEL and KOLMOGOROV_TOKEN."""

    model: Path
    token: SecretStr | None = None
    host: str = "127.0.0.1"
    #: What requests may call the server, between commas, beside localhost, any address and `host`; "*" is anything.
    hosts: str = ""
    port: int = Field(8000, ge=0, le=65535)
    workers: int = Field(1, ge=1, le=64)


Text = Annotated[str, Field(max_length=500)]  # with a limit, lone surrogates are refused, too
#: A text, or a whole number, which is looked up by its text.
Id = Annotated[Text, BeforeValidator(lambda given: str(given) if type(given) is int else given)]
#: A number as JSON writes it: neither true nor a text.
Rating = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=1, le=_MOST)]
Several = Field(None, min_length=1, max_length=_MOST)


class Predict(BaseModel, extra="forbid", json_schema_extra={"examples": [{"pairs": [["dolphin", "milk"]]}]}):
    pairs: list[tuple[Id, Id]] = Field(min_length=1, max_length=_MOST)


class Recommend(BaseModel, extra="forbid", json_schema_extra={"examples": [{"users": ["dolphin"], "n": 3}]}):
    """For users, or for guests: their ratings by ids or titles of items."""

    users: list[Id] | None = Several
    guests: list[dict[Text, Rating]] | None = Several
    n: Count = 10
    exclude_seen: bool = True


class Explain(BaseModel, extra="forbid", json_schema_extra={"examples": [{"user": "dolphin", "item": "milk"}]}):
    user: Id
    item: Id
    rules: bool = Field(False, description="Also count the rules that lead to it, which goes over the whole table.")


# A model of lists has a score in place of probability and rating; draws have a bound that nine of ten exceed. What is
# not known is predicted as average. A guest rated what is left out, and the model does not know it.
_SAID = {"probability": float, "rating": float, "score": float, "lower": float, "similarity": float, "count": int}
Row = TypedDict("Row", {"item": str, "user": str, "title": str, "known": bool, **_SAID}, total=False)  # type: ignore
Predictions = TypedDict("Predictions", {"predictions": list[Row]})
List = TypedDict("List", {"user": str, "items": list[Row], "left_out": list[str]}, total=False)
Lists = TypedDict("Lists", {"lists": list[List]})
_WHY = {"sentence": str, "steps": list[dict[str, Any]], "rules": list[dict[str, Any]]}
Explained = TypedDict("Explained", {"user": str, "item": str, **_SAID, **_WHY}, total=False)  # type: ignore
Problem = TypedDict("Problem", {"error": str})


def _records(columns: Mapping[str, Any]) -> list[Any]:
    lists = [np.asarray(column).tolist() for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def _ids(model: Any, given: Sequence[str], what: str) -> list[str]:
    """Return ids of ids or titles; an error names nobody but who was asked for, and items like a wrong one."""
    fitted = model.fitted_
    names, known = (fitted.users, fitted.user_known) if what == "user" else (fitted.items, fitted.item_known)
    ids = list(map(names.parse, given))
    for text, row in zip(given, names.rows_of(ids).tolist(), strict=True):
        if row < 0 or not known[row]:
            near = "" if what == "user" else names.suggestion(text)
            raise UnknownIdError(f"The model has no data on {what} {text!r}.{near}")
    return ids


def _why(model: Any, user: str, item: str, *, rules: bool) -> Any:
    lists, one = isinstance(model, ListModel), model._one_model
    return model.explain(user, item) if lists else explain(model.fitted_, one, user, item, with_reasons=rules)


class Holder:
    """The model that answers. A changed file is loaded and tried beside it; a bad one leaves the old one there."""

    def __init__(self, settings: Settings) -> None:
        self._path, self.problem = settings.model, ""
        self._seen = self._looks()
        # Of `current` a request takes all three once: the model, a tag of its file, and when it was loaded.
        self.current = self._loaded()

    def look(self) -> None:
        """Take over the file where it has changed."""
        if (seen := self._looks()) == self._seen:
            return
        self._seen = seen
        try:
            self.current, self.problem = self._loaded(), ""
        except Exception as error:
            # /health is open to everybody: it says neither where the file lies nor what an unforeseen error holds.
            expected = isinstance(error, (KolmogorovError, OSError, ValueError))
            why = str(error).replace(f"{self._path.parent}{os.sep}", "") if expected else type(error).__name__
            self.problem = f"The file has changed and could not be loaded, so the old model is served: {why}"
            _LOG.error(self.problem)

    def _looks(self) -> tuple[int, ...]:
        """Return what changes when a file is replaced or written to; nothing where there is none."""
        found = self._path.stat() if self._path.exists() else None
        return () if found is None else (found.st_ino, found.st_size, found.st_mtime_ns)

    def _loaded(self) -> tuple[Any, str, float]:
        """Load the model, and ask it once: what it makes at first use is there before anybody waits for it."""
        model = load(self._path)
        fitted = model.fitted_
        user, item = str(fitted.users.ids[fitted.user_seen][0]), str(fitted.items.ids[fitted.item_seen][0])
        model.recommend(user, 1, exclude_seen=False)
        model.recommend(guest={item: fitted.scale.maximum}, n=1)
        model.similar_items(item, 1)
        _why(model, user, item, rules=False)
        return model, "-".join(f"{number:x}" for number in self._seen), time.time()


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
    return JSONResponse({"error": sentence[:500].encode("utf-8", "replace").decode()}, status)


def create_app(settings: Settings | None = None) -> FastAPI:
    """Return the application, told by settings or by the environment."""
    settings = settings or Settings.model_validate({})
    holder, heavy, waiting = Holder(settings), anyio.CapacityLimiter(1), 0

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async def watch() -> None:
            while True:
                await asyncio.sleep(_PAUSE)
                await asyncio.to_thread(holder.look)

        anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
        watching = asyncio.create_task(watch())
        yield
        watching.cancel()

    # Pages of documentation would load scripts from elsewhere; a redirection goes to whatever host a request names.
    told: Any = {"docs_url": None, "redoc_url": None, "redirect_slashes": False, "lifespan": lifespan}
    told |= {"title": "kolmogorov", "version": __version__, "summary": "Predictions, and why they are what they are."}
    told["responses"] = {status: {"model": Problem} for status in (400, 401, 404, 413, 421, 422, 503)}
    handlers: Any = dict.fromkeys((HTTPException, RequestValidationError, KolmogorovError), _problem)
    api = FastAPI(**told, exception_handlers=handlers)
    hosts = {"localhost", settings.host.lower(), *settings.hosts.lower().replace(",", " ").split()}
    token = settings.token and settings.token.get_secret_value().encode()

    @api.middleware("http")
    async def gate(request: Request, call_next: Any) -> Any:
        began, method, headers = time.perf_counter(), request.method, request.headers
        scheme, _, shown = headers.get("authorization", "").partition(" ")
        right = scheme.lower() == "bearer" and hmac.compare_digest(shown.strip().encode(), token or b"")
        # The page of another site may lead its own name to this address; it cannot lead an address.
        name = re.sub(r":\d*$", "", headers.get("host", "").lower()).strip("[]")
        called = name in hosts or "*" in hosts or re.fullmatch(r"[\d.]+|[\da-f.]*:[\da-f.:]*", name)
        size = headers.get("content-length", "" if method == "POST" else "0")
        if not called:
            answer: Any = JSONResponse({"error": "This server is called otherwise. KOLMOGOROV_HOSTS adds names."}, 421)
        elif token and not right and request.url.path != "/health":
            bearer = {"www-authenticate": "Bearer"}
            answer = JSONResponse({"error": "Give the token: Authorization: Bearer TOKEN."}, 401, bearer)
        elif not size.isdecimal() or int(size) > _BYTES:
            answer = JSONResponse({"error": f"A request says its Content-Length, {_BYTES:,} bytes at most."}, 413)
        else:
            answer = await call_next(request)
        route, took = getattr(request.scope.get("route"), "path", "other"), time.perf_counter() - began
        method = method if method in ("GET", "POST") else "other"
        _SECONDS.labels(method, route, answer.status_code).observe(took)
        _LOG.info("%s %s %d %.1f ms", method, route, answer.status_code, 1000.0 * took)
        return answer

    guarded: Any = {"dependencies": [Depends(HTTPBearer(auto_error=False))]}

    async def serving(response: Response) -> Any:
        model, tag, _ = holder.current
        response.headers["etag"] = f'"{tag}"'
        return model

    Model = Annotated[Any, Depends(serving)]

    @api.post("/predict", summary="Probabilities and ratings of pairs", **guarded)
    def predict(asked: Predict, model: Model) -> Predictions:
        fitted, (users, items) = model.fitted_, zip(*asked.pairs, strict=True)
        texts = [*map(fitted.users.parse, users)], [*map(fitted.items.parse, items)]
        (who, which), _ = pair_rows(fitted, texts[0], texts[1], "ignore")
        known = np.append(fitted.user_known, False)[who] & np.append(fitted.item_known, False)[which]
        said = predicted_columns(fitted, fitted.at_rows(who, which))
        return {"predictions": _records({"user": users, "item": items, **said, "known": known})}

    @api.post("/recommend", summary="Lists for known users, or for guests by their ratings", **guarded)
    def recommend(asked: Recommend, model: Model) -> Lists:
        if (asked.users is None) == (asked.guests is None):
            raise DataError("Give users or guests, one of the two.")
        if len(asked.users or asked.guests or ()) * asked.n > _LISTED:
            raise DataError(f"All lists together may hold {_LISTED:,} items. Ask for less at a time.")
        whom: Any = ()
        if asked.users is not None:
            ids = _ids(model, asked.users, "user")
            lists: list[Any] = [{"user": user} for user in asked.users]
            whom = list(dict.fromkeys(ids))  # one who is named several times is asked for once
        else:
            ids, lists = list(map(str, range(len(asked.guests or ())))), []
            for ratings in asked.guests or ():
                unknown = model.items_.rows_of(map(model.items_.parse, ratings)) < 0
                lists.append({"left_out": [item for item, out in zip(ratings, unknown, strict=True) if out]})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KolmogorovWarning)  # logs name nobody
            whom = observations_of(model.fitted_, asked.guests) if asked.guests else whom
            columns = model._asked(whom, asked.n, exclude_seen=asked.exclude_seen)
        found: dict[str, Any] = {own: [] for own in ids}
        for row in _records(columns):
            found[row.pop("user")].append(row)
        return {"lists": [{"items": found[own], **one} for one, own in zip(lists, ids, strict=True)]}  # type: ignore

    @api.post("/explain", summary="Why a prediction is what it is", **guarded)
    async def why(asked: Explain, model: Model) -> Explained:
        # Rules go over the whole table: one such question is answered at a time, beside others, and few may wait.
        nonlocal waiting
        pair = _ids(model, [asked.user], "user")[0], _ids(model, [asked.item], "item")[0]
        if asked.rules and waiting >= _WAITING:
            raise HTTPException(503, "Too many questions for rules wait already, ask later")
        waiting += asked.rules
        try:
            limiter = heavy if asked.rules else None
            found = await anyio.to_thread.run_sync(lambda: _why(model, *pair, rules=asked.rules), limiter=limiter)
        finally:
            waiting -= asked.rules
        steps = [{"name": name, "amount": float(amount)} for name, amount in found.steps]
        told: Any = {"user": asked.user, "item": asked.item, "sentence": found.sentence, **found.said, "steps": steps}
        return told | {"rules": [asdict(reason) for reason in found.reasons]}

    @api.get("/similar", summary="Items most like one", **guarded)
    def similar(item: Text, model: Model, n: Annotated[int, Query(ge=1, le=_MOST)] = 10) -> List:
        return {"items": _records(model._similar_columns(_ids(model, [item], "item")[0], n))}

    @api.get("/health", summary="Whether the server answers, with which model since when, or why with an old one")
    async def health() -> dict[str, Any]:
        (model, tag, since), problem = holder.current, holder.problem
        state = {"status": "stale", "problem": problem} if problem else {"status": "ok"}
        return state | {"tag": tag, "since": since, "worker": os.getpid(), "model": type(model).__name__}

    @api.get("/metrics", summary="Counts and times, for Prometheus", **guarded, response_class=PlainTextResponse)
    def metrics() -> PlainTextResponse:
        found = REGISTRY
        if _COUNTS in os.environ:
            MultiProcessCollector(found := CollectorRegistry())
        return PlainTextResponse(generate_latest(found), media_type="text/plain; version=0.0.4")

    return api


class _Connection(H11Protocol):
    def connection_made(self, transport: Any) -> None:
        # On a socket that workers share, the body would wait 40 ms for word of the head.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)

    def pause_writing(self) -> None:
        # Who does not take the answer is waited for, but not for ever.
        super().pause_writing()
        self._dropping = self.loop.call_later(_SLOWEST, self.transport.abort)

    def resume_writing(self) -> None:
        self._dropping.cancel()
        super().resume_writing()


def run(settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM; requests under way are answered first."""
    secret = {} if settings.token is None else {"token": settings.token.get_secret_value()}
    told = settings.model_dump(exclude_none=True) | secret
    os.environ.update({f"KOLMOGOROV_{name.upper()}": str(value) for name, value in told.items()})
    # A worker that imports and loads on a busy machine is not dead: what it is made of goes by names, and it has time.
    options: Any = {"http": "kolmogorov.serve:_Connection", "ws": "none", "timeout_worker_healthcheck": 60}
    options |= {"host": settings.host, "port": settings.port, "workers": settings.workers}
    options |= {"limit_concurrency": 1_000, "timeout_keep_alive": 5, "timeout_graceful_shutdown": _GRACE}
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # uvicorn raises again what ended it, which is no error
    with tempfile.TemporaryDirectory() as counts, suppress(KeyboardInterrupt):
        if settings.workers > 1:
            os.environ[_COUNTS] = counts
        uvicorn.run("kolmogorov.serve:create_app", factory=True, access_log=False, server_header=False, **options)
