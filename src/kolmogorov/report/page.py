"""Plain data to one HTML file. Names are data: they travel as JSON and are shown as text, never run."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from kolmogorov._support.files import atomic_writer
from kolmogorov._support.optional import require

#: In the order of use: what a file says at once, those before it must have said.
SCRIPTS = (
    "dom.js", "data.js", "simplex.js", "fold_in.js", "naming.js", "address.js", "table.js", "search.js", "charts.js",
    "parts.js", "overview.js", "what_if.js", "events.js", "matrix.js", "rules.js", "diagram.js", "order.js", "items.js",
    "users.js", "wrong.js", "main.js",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Page:
    """A report in memory: notebooks show it in a frame, `write` keeps it."""

    text: str

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page atomically."""
        with atomic_writer(path) as stream:
            stream.write(self.text.encode("utf-8", "replace"))

    def __repr__(self) -> str:
        return f"<report of {len(self.text) / 1e6:.1f} MB: .write(path) keeps it>"

    def _repr_html_(self) -> str:
        # In its frame the page may run its script and save files, and touch nothing outside.
        return (
            '<iframe title="Report" sandbox="allow-scripts allow-downloads" style="width:100%;height:720px;border:0" '
            f'srcdoc="{html.escape(self.text)}"></iframe>'
        )


def render(content: dict[str, Any], scripts: tuple[str, ...] = SCRIPTS) -> str:
    """Fill the template. A policy in the page allows this one script and this one style, and no network."""
    jinja2 = require("jinja2", extra="report", purpose="A report")
    folder = files("kolmogorov.report").joinpath("templates")
    style = folder.joinpath("style.css").read_text(encoding="utf-8")
    script = "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in scripts)
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined)
    template = environment.from_string(folder.joinpath("page.html").read_text(encoding="utf-8"))
    page: str = template.render(
        title=content["title"],
        subtitle=content["subtitle"],
        credit=content["table"]["credit"],
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
