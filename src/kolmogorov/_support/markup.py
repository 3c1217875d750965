"""What people read, in a terminal and in a notebook. Names are data: they are shown and escaped, never interpreted."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

#: A colour that is read on white and on black, and the length of the longest text of a cell.
_BAR, _LONGEST = "#6f93e0", 80
#: Control and format characters, lone surrogates, and separators of lines: they act instead of being seen. Persian,
#: Hindi and emoji cannot be written without joiners, which move nothing.
_ACTING, _JOINERS = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp")), "\u200c\u200d"


def shown(text: Any) -> str:
    r"""Escape what would move the cursor, colour the screen, turn the text around or begin a new line.

    Examples
    --------
    >>> print(shown("Alien\x1b[31m\n\u202e"))
    Alien\x1b[31m\n\u202e
    """
    plain = str(text)
    if plain.isprintable():
        return plain
    acting = [unicodedata.category(c) in _ACTING and c not in _JOINERS for c in plain]
    return "".join(c.encode("unicode_escape").decode() if acts else c for c, acts in zip(plain, acting, strict=True))


def card(title: str, *parts: str) -> str:
    """Put pieces under a title."""
    return f'<div style="max-width:60em"><b>{_text(title)}</b>{"".join(parts)}</div>'


def note(words: str) -> str:
    """Return a paragraph in a soft colour."""
    return f'<div style="opacity:.72">{_text(words, 400)}</div>'


def table(columns: Mapping[str, Iterable[Any]], more: int = 0) -> str:
    """Return a table of named columns; `more` rows are counted below."""
    head = "".join(f"<th>{_text(name)}</th>" for name in columns)
    rows = ("".join(f"<td>{_text(cell)}</td>" for cell in cells) for cells in zip(*columns.values(), strict=True))
    body = "".join(f"<tr>{cells}</tr>" for cells in rows)
    rest = note(f"and {more:,} more") if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def bars(labels: Sequence[Any], values: Sequence[float], shown: Sequence[str], colours: Sequence[str] = ()) -> str:
    """Return a bar for each label, as long as its value, to the left if negative; what is `shown` stands beside it."""
    least, lines = min([*values, 0.0]), []
    unit = 160 / (max([*values, 1e-12]) - least)
    for k, (label, value, words) in enumerate(zip(labels, values, shown, strict=True)):
        place = f"margin-left:{unit * (min(value, 0.0) - least):.1f}px;width:{unit * abs(value):.1f}px"
        bar = f'<div style="{place};height:.8em;background:{colours[k] if k < len(colours) else _BAR}"></div>'
        cells = _text(label), bar, _text(words)
        lines.append("".join(f'<td style="text-align:left">{cell}</td>' for cell in cells))
    return f"<table><tbody>{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody></table>"


def _text(value: Any, longest: int = _LONGEST) -> str:
    """Escape a text, cut where it is long; numbers are rounded."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
    plain = str(value)
    return escape(plain if len(plain) <= longest else f"{plain[: longest - 1]}…")
