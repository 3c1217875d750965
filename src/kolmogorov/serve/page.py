"""The page at /: what would be recommended to somebody who says this and that, asked of the API as they say it."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def page() -> str:
    """Return the page; it holds nothing of the model, and asks for all that it shows."""
    return files("kolmogorov.serve").joinpath("page.html").read_text(encoding="utf-8")
