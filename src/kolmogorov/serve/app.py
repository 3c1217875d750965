"""The API: which path answers what, and what is wrong with a request, as an answer: a status and one sentence."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import AsyncIterator, Callable
from functools import cache
from importlib.resources import files
from typing import Any

import anyio.to_thread
from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.exceptions import HTTPException

from kolmogorov import __version__
from kolmogorov.errors import DataError, KolmogorovError, UnknownIdError
from kolmogorov.serve import answers
from kolmogorov.serve import forms as said
from kolmogorov.serve.forms import MOST_LETTERS, Explain, Predict, Recommend, responses
from kolmogorov.serve.guard import App, Guard, Metrics
from kolmogorov.serve.served import Holder
from kolmogorov.serve.settings import Settings

#: Letters of a sentence at most.
_LONGEST = 500


class AskedTooMuchError(KolmogorovError):
    """A request for more than the server gives at a time."""


def check_listed(settings: Settings, what: str, count: int) -> None:
    """Refuse more of something than one request may ask for."""
    if count > settings.most_listed:
        raise AskedTooMuchError(f"{what}: {settings.most_listed:,} at most, got {count:,}.")


def check_lines(settings: Settings, n_lists: int, n: int) -> None:
    """Refuse lists that have too many lines together, though each is short enough and they are few enough."""
    if n_lists * n > settings.most_lines:
        raise AskedTooMuchError(
            f"users or guests times n: {settings.most_lines:,} at most, got {n_lists:,} x {n:,}. Ask for fewer of "
            "them at a time, or for shorter lists."
        )


def add_problems(api: FastAPI) -> None:
    """Have every error answered as `{"error": "..."}`."""

    @api.exception_handler(HTTPException)
    async def _(_: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse({"error": f"{error.detail}."}, error.status_code, error.headers)

    @api.exception_handler(RequestValidationError)
    async def _(request: Request, error: RequestValidationError) -> JSONResponse:
        if request.method == "POST" and "json" not in request.headers.get("content-type", ""):
            return JSONResponse({"error": "Send JSON, with the header Content-Type: application/json."}, 415)
        # What was sent is not sent back: it may be anything, of any length.
        wrong = [
            f"{'.'.join(str(part) for part in found['loc'] if part != 'body') or 'the body'}: {found['msg']}"
            for found in error.errors()[:3]
        ]
        return JSONResponse({"error": "; ".join(wrong)[:_LONGEST]}, 422)

    @api.exception_handler(KolmogorovError)
    async def _(_: Request, error: KolmogorovError) -> JSONResponse:
        status = 404 if isinstance(error, UnknownIdError) else 422
        return JSONResponse({"error": str(error)[:_LONGEST]}, status)


@cache
def page() -> str:
    """Return the page; it holds nothing of the model, and asks for all that it shows."""
    return files("kolmogorov.serve").joinpath("page.html").read_text(encoding="utf-8")


#: What a question with a body may be answered, and one without.
_ASKED = responses(400, 401, 404, 408, 413, 415, 422, 431, 503)
_LOOKED_UP = responses(304, 401, 408, 413, 422, 431, 503)
_NAMED = responses(304, 401, 404, 408, 413, 422, 431, 503)
#: Who is asked for a token: everybody, where there is one.
_SCHEME = {"bearer": {"type": "http", "scheme": "bearer", "description": "What KOLMOGOROV_TOKEN is set to."}}


def app_of(settings: Settings, secret: str | None = None, holder: Holder | None = None) -> App:
    """Return the whole application: the API, and the guard around it."""
    holder, metrics = holder or Holder(settings.model, settings.titles), Metrics()
    api = FastAPI(
        title="kolmogorov",
        version=__version__,
        summary="Predictions of a Kolmogorov model, and why they are what they are.",
        lifespan=_lifespan(holder, settings),
        docs_url=None,
        redoc_url=None,
        # A redirection would send the client to whatever host its request names.
        redirect_slashes=False,
    )
    add_problems(api)
    _add_questions(api, holder, settings)
    _add_lookups(api, holder, settings)
    _add_state(api, holder, metrics)
    _describe(api, needs_token=secret is not None)
    return Guard(api, settings, secret, metrics)


def _lifespan(holder: Holder, settings: Settings) -> Any:
    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = settings.threads
        if hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, holder.look_now)
        holder.watch(settings.pause)
        yield
        holder.close()

    return lifespan


def _add_questions(api: FastAPI, holder: Holder, settings: Settings) -> None:
    """Add what is asked with a body: ids of users belong into no address, which proxies log."""

    @api.post(
        "/predict", summary="Probabilities and ratings of pairs", response_model=said.Predictions, responses=_ASKED
    )
    def _(asked: Predict) -> Response:
        check_listed(settings, "pairs", len(asked.pairs))
        return _answered(
            holder, lambda model: {"predictions": answers.predicted(model, asked.pairs, strict=asked.strict)}
        )

    @api.post(
        "/recommend",
        summary="Lists for known users, or for guests by their ratings",
        response_model=said.Lists,
        responses=_ASKED,
    )
    def _(asked: Recommend) -> Response:
        if (asked.users is None) == (asked.guests is None):
            raise DataError("Give users or guests, one of the two.")
        users, guests = asked.users or (), asked.guests or ()
        check_listed(settings, "n", asked.n)
        check_listed(settings, "users or guests", len(users or guests))
        check_lines(settings, len(users or guests), asked.n)
        for guest in guests:
            check_listed(settings, "ratings of a guest", len(guest))

        def lists(model: Any) -> dict[str, Any]:
            least, seen = asked.min_count, asked.exclude_seen
            if users:
                found = answers.recommended(model, users, asked.n, exclude_seen=seen, min_count=least)
            else:
                found = answers.recommended_to_guests(model, guests, asked.n, min_count=least)
            return {"lists": found}

        return _answered(holder, lists)

    @api.post("/explain", summary="Why a prediction is what it is", response_model=said.Explained, responses=_ASKED)
    def _(asked: Explain) -> Response:
        return _answered(holder, lambda model: answers.explained(model, asked.user, asked.item, rules=asked.rules))


def _add_lookups(api: FastAPI, holder: Holder, settings: Settings) -> None:
    """Add what depends on the model alone: who has the answer for its tag need not be sent it again."""
    text = Query("", max_length=MOST_LETTERS)
    few = Query(10, ge=1, le=settings.most_listed)

    @api.get("/similar", summary="Items most like one", response_model=said.Neighbours, responses=_NAMED)
    def _(request: Request, item: str = Query(max_length=MOST_LETTERS, examples=["milk"]), n: int = few) -> Response:
        return _known(request, holder, lambda model: {"items": answers.similar(model, item, n)})

    @api.get("/events", summary="The events, by what names them", response_model=said.Events, responses=_LOOKED_UP)
    def _(request: Request, n: int = few) -> Response:
        return _known(request, holder, lambda model: {"events": answers.events(model, n)})

    @api.get("/items", summary="Items by a part of their name", response_model=said.Items, responses=_LOOKED_UP)
    def _(request: Request, q: str = text, n: int = few) -> Response:
        return _known(request, holder, lambda model: {"items": answers.found_items(model, q, n)})


def _add_state(api: FastAPI, holder: Holder, metrics: Metrics) -> None:
    @api.get("/health", summary="Whether the server answers, and with which model", response_model=said.Health)
    async def _() -> Response:
        served, problem = holder.current, holder.problem
        found = {"status": "ok" if problem is None else "stale", "tag": served.tag, "since": served.since}
        return JSONResponse(found | answers.described(served.model) | ({} if problem is None else {"problem": problem}))

    @api.get(
        "/metrics",
        summary="Counts and times of one worker, for Prometheus",
        response_class=PlainTextResponse,
        responses=responses(401, 503),
    )
    async def _() -> PlainTextResponse:
        failing = holder.problem is not None
        text = metrics.text(since=holder.current.since, swaps=holder.swaps, failing=failing)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    @api.get("/", include_in_schema=False)
    async def _() -> HTMLResponse:
        return HTMLResponse(
            page(), headers={"content-security-policy": "default-src 'self' 'unsafe-inline'; img-src data:"}
        )


def _describe(api: FastAPI, *, needs_token: bool) -> None:
    """Add the token to the description: needed, or of no use where none is set."""
    made = api.openapi

    def described() -> dict[str, Any]:
        found = made()
        found["components"]["securitySchemes"] = _SCHEME
        for path, operations in found["paths"].items():
            for operation in operations.values():
                if path != "/health":
                    operation["security"] = [{"bearer": []}, *([] if needs_token else [{}])]
        return found

    api.openapi = described  # type: ignore[method-assign]


def _answered(holder: Holder, answer: Callable[[Any], dict[str, Any]]) -> Response:
    """Answer by the model that is there now, and say which it is."""
    served = holder.current
    return JSONResponse(answer(served.model), headers={"etag": f'"{served.tag}"'})


def _known(request: Request, holder: Holder, answer: Callable[[Any], dict[str, Any]]) -> Response:
    """Answer, or say that nothing has changed since the tag that the client has."""
    served = holder.current
    headers = {"etag": f'"{served.tag}"', "cache-control": "no-cache"}
    has = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
    if headers["etag"] in has or "*" in has:
        return Response(status_code=304, headers=headers)
    return JSONResponse(answer(served.model), headers=headers)
