"""`kolmogorov serve`: a model as a service."""

from __future__ import annotations

import os
from typing import Any

import click

from kolmogorov.cli.options import titles_option
from kolmogorov.cli.shell import ModelFile, Verb, doing


@click.command("serve", cls=Verb)
@click.argument("model", type=ModelFile())
@click.option("--host", help="Address to listen on; 0.0.0.0 is all.  [default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), help="0 for any that is free.  [default: 8000]")
@click.option("--workers", type=click.IntRange(1, 64), help="Processes; each holds MODEL.  [default: 1]")
@titles_option
def command(model: str, titles: str | None, **told: Any) -> None:
    """Answer requests from MODEL over HTTP, until Ctrl-C.

    POST /predict, /recommend, /explain; GET /similar, /health, /metrics, /openapi.json.

    When the file changes, as by `kolmogorov update`, the new model takes the place of the old one between two requests.
    If it cannot be loaded the old one goes on, and /health says so.

    Where the environment variable KOLMOGOROV_TOKEN is set, requests need the header "Authorization: Bearer TOKEN".
    Other settings are variables, too: KOLMOGOROV_PORT, KOLMOGOROV_MOST_BYTES, KOLMOGOROV_MOST_LISTED, ...

    \b
    Examples:
      kolmogorov serve model.km
      KOLMOGOROV_TOKEN=secret kolmogorov serve model.km --host 0.0.0.0 --workers 2
    """
    from kolmogorov._support.optional import require
    from kolmogorov._support.progress import say
    from kolmogorov.errors import ParameterError

    for module in ("fastapi", "uvicorn", "pydantic_settings", "prometheus_client"):
        require(module, extra="serve", purpose="A server")
    from pydantic import ValidationError

    from kolmogorov.serve import Holder, Settings, run

    told |= {"model": os.path.abspath(model), "titles": titles and os.path.abspath(titles)}
    try:
        settings = Settings(**{name: value for name, value in told.items() if value is not None})
    except ValidationError as error:
        wrong = error.errors()[0]
        raise ParameterError(f"KOLMOGOROV_{str(wrong['loc'][0]).upper()}: {wrong['msg']}.") from None
    doing(f"Loading {model}")
    # Workers load it, too; a file that is none is said here, once and in one sentence.
    Holder(settings)
    doing(None)
    if settings.host not in ("127.0.0.1", "localhost", "::1") and settings.token is None:
        say(f"Anybody who reaches {settings.host} can ask this model. Set KOLMOGOROV_TOKEN to ask for a token.")
    run(settings)
