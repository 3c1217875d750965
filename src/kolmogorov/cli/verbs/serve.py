"""`kolmogorov serve`: a model as a service."""

from __future__ import annotations

import os

import click

from kolmogorov.cli.command import ModelFile, Verb, doing
from kolmogorov.cli.options import Finite, titles_option

#: Addresses that only this machine can reach.
_HERE = ("127.0.0.1", "localhost", "::1")


@click.command("serve", cls=Verb)
@click.argument("model", type=ModelFile())
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 is all.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0 for any that is free.")
@click.option(
    "--workers", default=1, show_default=True, type=click.IntRange(1, 64), help="Processes; each holds MODEL."
)
@click.option(
    "--most-bytes", default=1_000_000, show_default=True, type=click.IntRange(1), help="Bytes of a request at most."
)
@click.option(
    "--most-listed",
    default=1_000,
    show_default=True,
    type=click.IntRange(1),
    help="Items of a list, and users or pairs of a request, at most; lists together have 20 times as many.",
)
@click.option(
    "--seconds",
    default=10.0,
    show_default=True,
    type=Finite(0.0, min_open=True),
    help="Time for a request to come in, and for its answer.",
)
@titles_option
def command(
    model: str,
    host: str,
    port: int,
    workers: int,
    most_bytes: int,
    most_listed: int,
    seconds: float,
    titles: str | None,
) -> None:
    """Answer requests from MODEL over HTTP, until Ctrl-C.

    POST /predict, /recommend, /explain; GET /similar, /events, /items, /health, /metrics, /openapi.json; a page at /.

    When the file changes, as by `kolmogorov update`, or on SIGHUP, the new model takes the place of the old one between
    two requests. If it cannot be loaded the old one goes on, and /health says so.

    Where the environment variable KOLMOGOROV_TOKEN is set, requests need the header "Authorization: Bearer TOKEN".

    \b
    Examples:
      kolmogorov serve model.km
      KOLMOGOROV_TOKEN=secret kolmogorov serve model.km --host 0.0.0.0 --workers 2
    """
    from kolmogorov._support.optional import require
    from kolmogorov._support.progress import say
    from kolmogorov.serve.settings import TOKEN_VARIABLE, Settings, token

    for module in ("fastapi", "uvicorn"):
        require(module, extra="serve", purpose="A server")
    from kolmogorov.models.loading import load
    from kolmogorov.serve.running import listening_socket, run

    doing(f"Loading {model}")
    load(model).with_titles(items=titles)
    doing(None)
    if host not in _HERE and token() is None:
        say(f"Anybody who reaches {host} can ask this model. Set {TOKEN_VARIABLE} to ask for a token.")
    settings = Settings(os.path.abspath(model), titles and os.path.abspath(titles), most_bytes, most_listed, seconds)
    listening = listening_socket(host, port)
    port = listening.getsockname()[1]
    where = f"http://{_in_address(host)}:{port}"
    say(f"Serving {model} at {where}, {workers} worker{'' if workers == 1 else 's'}. Ctrl-C ends it.")
    run(settings, listening, workers)


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host
