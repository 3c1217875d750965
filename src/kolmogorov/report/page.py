"""Numbers packed into texts, and the page: one HTML file with its scripts and its content."""

import base64
import hashlib
import html
import json
import os
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.outside import replacing, require


def as_text(array: NDArray[Any]) -> str:
    """Return the bytes of an array, little-endian, in base64."""
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return base64.b64encode(np.ascontiguousarray(little).tobytes()).decode("ascii")


def shares(values: NDArray[np.float64]) -> str:
    """Return numbers between 0 and 1 as 16 bits each."""
    return as_text(np.rint(np.clip(values, 0.0, 1.0) * 65535).astype(np.uint16))


def bits(flags: NDArray[np.bool_]) -> str:
    """Return flags as one bit each, the first in the lowest."""
    return as_text(np.packbits(flags.ravel(), bitorder="little"))


def nibbles(codes: NDArray[np.int64]) -> str:
    """Return numbers below 16 two to a byte, the first in the lower half."""
    padded = np.append(codes, 0)[: len(codes) + len(codes) % 2].astype(np.uint8)
    return as_text(padded[::2] | (padded[1::2] << 4))


def varints(numbers: NDArray[np.int64]) -> str:
    """Return whole numbers in groups of seven bits, the lowest first; the eighth bit says that more follow."""
    sizes = np.maximum(1, -(-_bit_lengths(numbers) // 7))
    ends = np.cumsum(sizes)
    out = np.zeros(int(ends[-1]) if len(ends) else 0, dtype=np.uint8)
    for place in range(int(sizes.max()) if len(sizes) else 0):
        has = sizes > place
        part = (numbers[has] >> (7 * place)) & 127
        out[ends[has] - sizes[has] + place] = part | np.where(sizes[has] > place + 1, 128, 0)
    return as_text(out)


def _bit_lengths(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    # Whole numbers below 2 ** 53 are floats without loss, and frexp gives the length.
    return np.frexp(numbers.astype(np.float64))[1].astype(np.int64)


#: In the order of use; a page of lists ends in another file.
_SHARED = ("base.js", "charts.js", "views.js")


@dataclass(frozen=True, eq=False)
class Page:
    """A report in memory: notebooks show it in a frame, `write` keeps it."""

    text: str

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page atomically."""
        with replacing(path) as stream:
            stream.write(self.text.encode("utf-8", "replace"))

    def __repr__(self) -> str:
        return f"<report of {len(self.text) / 1e6:.1f} MB: .write(path) keeps it>"

    def _repr_html_(self) -> str:
        # In its frame the page may run its script and save files, and touch nothing outside.
        return (
            '<iframe title="Report" sandbox="allow-scripts allow-downloads" style="width:100%;height:720px;border:0" '
            f'srcdoc="{html.escape(self.text)}"></iframe>'
        )


def render(content: dict[str, Any], last: str = "main.js") -> str:
    """Fill the template. A policy in the page allows this one script and this one style, and no network."""
    jinja2 = require("jinja2", extra="report", purpose="A report")
    folder = files("kolmogorov.report").joinpath("templates")
    style = folder.joinpath("style.css").read_text(encoding="utf-8")
    script = "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in (*_SHARED, last))
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
