"""What is wrong with a request, as an answer: a status and one sentence."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from kolmogorov._support.wording import worded
from kolmogorov.errors import KolmogorovError, UnknownIdError
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
        # Without advice on parameters of Python, which nobody who asks over HTTP has.
        sentence = worded(error.args[0], {}) if error.args else str(error)
        return JSONResponse({"error": sentence[:_LONGEST]}, status)
