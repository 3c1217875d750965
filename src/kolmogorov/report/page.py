"""Plain data to one HTML file. Names are data: they travel as JSON and are shown as text, never run."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from importlib.resources import files
from typing import Any

from kolmogorov._support.files import atomic_writer
from kolmogorov._support.optional import require

_SCRIPTS = ("dom.js", "charts.js", "views.js", "diagram.js", "main.js")


def write(content: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the page atomically."""
    with atomic_writer(path) as stream:
        stream.write(render(content).encode("utf-8", "replace"))


def render(content: dict[str, Any]) -> str:
    """Fill the template. A policy in the page allows this one script and this one style, and no network."""
    jinja2 = require("jinja2", extra="report", purpose="A report")
    folder = files("kolmogorov.report").joinpath("templates")
    style = folder.joinpath("style.css").read_text(encoding="utf-8")
    script = "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in _SCRIPTS)
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined)
    template = environment.from_string(folder.joinpath("page.html").read_text(encoding="utf-8"))
    page: str = template.render(
        title=content["title"],
        # Inside a script element only "</script" and "<!--" end or change the text.
        data=json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"),
        style=style,
        script=script,
        style_hash=_digest(style),
        script_hash=_digest(script),
    )
    return page


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
