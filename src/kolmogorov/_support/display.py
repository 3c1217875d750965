"""What people read, in a terminal and in a notebook. Names are data: they are shown and escaped, never interpreted."""

import logging
import sys
import time
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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


logger = logging.getLogger("kolmogorov")
logger.addHandler(logging.NullHandler())
#: Lines for people are written while this logger is enabled.
_terminal = logging.getLogger("kolmogorov.terminal")
#: When the line that passes was written, 0 where there is none; seconds between two, and their width.
_passing, _PAUSE, _WIDTH = 0.0, 0.2, 79


@contextmanager
def silence() -> Iterator[None]:
    """Keep notices off the terminal inside the block, those of other threads too."""
    before, _terminal.disabled = _terminal.disabled, True
    try:
        yield
    finally:
        _terminal.disabled = before


def is_silent() -> bool:
    """Tell whether only errors are to be shown."""
    return _terminal.disabled


def notice(message: str, *, always: bool = False) -> None:
    """Log `message`, and show it on standard error when a person is watching, or `always`."""
    logger.info(shown(message))
    if always or (sys.stderr is not None and sys.stderr.isatty() and not is_silent()):
        say(message)


def passing(text: str) -> None:
    """Show a line that the next one replaces, where a person is watching, in a notebook too; "" takes it away."""
    global _passing
    watched = sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)
    if not watched or is_silent() or not (_passing if not text else time.monotonic() - _passing > _PAUSE):
        return
    sys.stderr.write(f"\r{text[:_WIDTH]:{_WIDTH}}" if text else f"\r{'':{_WIDTH}}\r")
    sys.stderr.flush()
    _passing = time.monotonic() if text else 0.0


def say(message: object) -> None:
    """Write one line to standard error; what it names cannot act on the terminal."""
    passing("")
    if sys.stderr is not None:
        sys.stderr.write(f"kolmogorov: {shown(message)}\n")
        sys.stderr.flush()


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line outside the library from which it was called."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "kolmogorov":
        level, frame = level + 1, frame.f_back
    warnings.warn(category(message), stacklevel=level + 1)


def says_stop(answer: Any) -> bool:
    """Tell whether a callback asks to stop: by True, or NumPy's; what `list.append` returns means go on."""
    return type(answer).__name__ in ("bool", "bool_") and bool(answer)
