"""The one file format of the library: arrays under names, a footer in JSON that says what is where, and checksums.

Models, checkpoints and packed tables are containers. Layout, all numbers little-endian::

    8 bytes    magic b"KOLMO\\r\\n\\x1a" (a text-mode copy damages it visibly), then 4 bytes: version of this layout
    ...        sections, one for each array, at multiples of the file's alignment, with zeros between them
    ...        footer: JSON, UTF-8; {"kind": ..., "meta": {...}, "end": where the footer begins,
               "sections": {name: {dtype, shape, offset, sha256}}}
    8 bytes    length of the footer
    32 bytes   SHA-256 of the footer
    8 bytes    the magic again

A file that was not written to its end has no footer. Nothing in a file can be executed, and a file with right
checksums is still only a claim: every size is compared with the size of the file before memory is asked for, sections
may not overlap, and what the arrays mean is for their reader to check (`invariants`).
"""

from kolmogorov._support.container.layout import DAMAGE, DTYPES, MAGIC, PAGE, VERSION, Contents, Section, malformed
from kolmogorov._support.container.reading import blocks_of, check_gaps, check_path, contents_of, opened, read
from kolmogorov._support.container.writing import Growing, Writer, write

__all__ = [
    "DAMAGE",
    "DTYPES",
    "MAGIC",
    "PAGE",
    "VERSION",
    "Contents",
    "Growing",
    "Section",
    "Writer",
    "blocks_of",
    "check_gaps",
    "check_path",
    "contents_of",
    "malformed",
    "opened",
    "read",
    "write",
]
