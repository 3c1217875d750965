"""What people read, in a terminal and in a notebook. Names are data: they are shown and escaped, never interpreted."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

#: Colours that are read on white and on black.
_BAR, _LINE, _SOFT = "#6f93e0", "rgba(128,128,128,.35)", "opacity:.72"
_LONGEST = 80
#: Control and format characters, lone surrogates, and separators of lines: they act instead of being seen.
_ACTING = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
#: Persian, Hindi and emoji cannot be written without joiners, which move nothing.
_JOINERS = "\u200c\u200d"


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
    head = f'<div style="font-weight:600;margin-bottom:.3em">{_text(title)}</div>'
    return f'<div style="font-size:14px;line-height:1.5;max-width:60em">{head}{"".join(parts)}</div>'


def note(words: str) -> str:
    """Return a paragraph in a soft colour."""
    return f'<div style="{_SOFT}">{_text(words, 400)}</div>'


def table(columns: Mapping[str, Iterable[Any]], more: int = 0) -> str:
    """Return a table of named columns; numbers stand to the right, and `more` rows are counted below."""
    drawn = []
    for name, cells in columns.items():
        column = list(cells)
        side = "right" if all(isinstance(cell, (int, float)) for cell in column) else "left"
        style = f"text-align:{side};padding:.15em .7em;border-bottom:1px solid {_LINE};background:none"
        tags = ["th", *["td"] * len(column)]
        drawn.append(
            [f'<{t} style="{style}">{_text(cell)}</{t}>' for t, cell in zip(tags, [name, *column], strict=True)]
        )
    head, *rows = (f"<tr>{''.join(cells)}</tr>" for cells in zip(*drawn, strict=True))
    rest = note(f"and {more:,} more") if more > 0 else ""
    body = f"<thead>{head}</thead><tbody>{''.join(rows)}</tbody>"
    return f'<table style="border-collapse:collapse">{body}</table>{rest}'


def bars(labels: Sequence[Any], values: Sequence[float], shown: Sequence[str], colours: Sequence[str] = ()) -> str:
    """Return a bar for each label, as long as its value, to the left if negative; what is `shown` stands beside it."""
    least, most = min([*values, 0.0]), max([*values, 1e-12])
    unit, lines, cell = 160 / (most - least), [], '<td style="text-align:left;padding:0 .7em;background:none">'
    for k, (label, value, words) in enumerate(zip(labels, values, shown, strict=True)):
        colour, begin = colours[k] if k < len(colours) else _BAR, unit * (min(value, 0.0) - least)
        bar = f"display:inline-block;height:.8em;width:{unit * abs(value):.1f}px;background:{colour}"
        # What stands beside the bars begins at one place where some of them go to the left.
        room = f"margin:0 {160 - begin - unit * abs(value):.1f}px 0 {begin:.1f}px;" if least < 0.0 else ""
        lines.append(f'<tr>{cell}{_text(label)}</td>{cell}<span style="{room}{bar}"></span> {_text(words)}</td></tr>')
    return f'<table style="border-collapse:collapse"><tbody>{"".join(lines)}</tbody></table>'


def _text(value: Any, longest: int = _LONGEST) -> str:
    """Escape a text, cut where it is long; numbers are rounded."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
    plain = str(value)
    return escape(plain if len(plain) <= longest else f"{plain[: longest - 1]}…")
