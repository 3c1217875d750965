"""Which encoding a text is in, told by its bytes: UTF-8, UTF-16 with its mark, or what Windows writes in the West."""

from __future__ import annotations

import codecs
import re

AUTO = "auto"
WINDOWS = "cp1252"
#: Bytes that are looked at. By judgement: a fraction of a second, packed or not.
LOOKED_AT = 1 << 22
_HIGH = re.compile(rb"[\x80-\xff]+")
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x19\x1b-\x1f]")
_LETTERS = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýŒœŠšŽžŸ"
_USUAL = (_LETTERS + "€…‘’“”–—\xa0©®°´·«»§²³½¼¿¡ªº£™").encode(WINDOWS)
#: Letters with accents that follow each other, at most; words of Cyrillic or Greek have more. By judgement.
_LONGEST_RUN = 3
#: Of a hundred such bytes so many are letters or signs that people write. By judgement.
_MOSTLY = 95


def guessed_encoding(start: bytes, *, whole: bool = True) -> str:
    """Return the encoding of a text by its first bytes, or all of them; UTF-8 where nothing speaks for another.

    Examples
    --------
    >>> [guessed_encoding("Zoë".encode(encoding)) for encoding in ("utf-8", "latin-1", "utf-16")]
    ['utf-8', 'cp1252', 'utf-16']
    """
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        # The last character of a part may be cut.
        codecs.getincrementaldecoder("utf-8")().decode(start, whole)
    except UnicodeDecodeError:
        return WINDOWS if _is_western(start) else "utf-8"
    return "utf-8"


def _is_western(text: bytes) -> bool:
    """Tell whether bytes beyond ASCII are those of accents and signs in a text of the West."""
    if _CONTROL.search(text):
        return False
    runs = _HIGH.findall(text)
    high = b"".join(runs)
    usual = len(high) - len(high.translate(None, _USUAL))
    return max(map(len, runs)) <= _LONGEST_RUN and 100 * usual >= _MOSTLY * len(high)
