"""Shards of a table: neighbouring users with all their observations, each whole in itself."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kolmogorov.data.entries.entries import Duplicates, Entries, duplicate
from kolmogorov.data.entries.view import View, transposed
from kolmogorov.data.ids.vocabulary import Vocabulary
from kolmogorov.data.numbers.scale import Scale
from kolmogorov.data.numbers.scaling import Extent
from kolmogorov.data.packed.table import read_rows
from kolmogorov.data.reading.gathering import Intake
from kolmogorov.data.reading.options import ReadingOptions
from kolmogorov.data.reading.source import Source
from kolmogorov.errors import DataError

#: All users and all items of a table.
Names = tuple[Vocabulary, Vocabulary]


@dataclass(frozen=True, eq=False)
class Shard:
    """The users from `first` on of a table, counted from there in both orders; `columns` has all items."""

    first: int
    rows: View
    columns: View

    @property
    def n_users(self) -> int:
        """Number of users."""
        return self.rows.indptr.size - 1

    def __sizeof__(self) -> int:
        # What a scheduler that weighs moving it should know.
        return self.rows.nbytes + self.columns.nbytes

    def fingerprint(self) -> str:
        """Return a digest of the entries."""
        return hashlib.sha256(str(self.first).encode() + b"".join(self.rows.digests())).hexdigest()


def shard_of_table(path: str | os.PathLike[str], fingerprint: str, first: int, last: int) -> Shard:
    """Read some users of a packed table, which must be the one with this fingerprint."""
    return shard_of_rows(*read_rows(path, fingerprint, first, last), first)


def shard_of_rows(rows: View, n_items: int, first: int) -> Shard:
    """Make a shard of rows at hand."""
    return Shard(first, rows, transposed(rows, n_items))


# --- of parts: who is there, then everybody's ratings to the shard that he belongs to -----------------------------


@dataclass(frozen=True, eq=False)
class PartSummary:
    """What one part of a table holds: its ids with how often users occur, and how far its ratings reach."""

    users: Vocabulary
    user_counts: NDArray[np.int64]
    items: Vocabulary
    extent: Extent


def part_summary(part: Source, options: ReadingOptions) -> PartSummary:
    """Look at one part of a table, and check its ratings and weights."""
    intake = Intake([part], options)
    entries = Entries.joined(intake)
    users, items = intake.finish()
    counts = np.bincount(intake.encoded(entries).own, minlength=len(users))
    return PartSummary(users, counts, items, intake.extent)


def dealt_part(part: Source, names: Names, starts: NDArray[np.int64], scale: Scale) -> list[Entries]:
    """Deal one part of a table, which was looked at before, to the shards that begin at the users `starts`."""
    intake = Intake([part], ReadingOptions(scaling="minmax"))
    entries = Entries.joined(intake)
    own_users, own_items = intake.finish()
    entries = intake.encoded(entries)
    own = names[0].encode(own_users.ids)[entries.own]
    partner = names[1].encode(own_items.ids).astype(np.int32)[entries.partner]
    entries = Entries(own, partner, scale.probability(entries.values), entries.weights)
    return list(entries.dealt(np.searchsorted(starts, own, side="right") - 1, len(starts)))


def shard_of_pieces(first: int, last: int, names: Names, duplicates: Duplicates, *pieces: Entries) -> Shard:
    """Put together what all parts have for one shard."""
    users, items = names
    entries = Entries.joined(pieces)
    entries = replace(entries, own=entries.own - first)

    def complain(a: int, b: int) -> DataError:
        pair = users.ids.item(int(entries.own[a]) + first), items.ids.item(int(entries.partner[a]))
        return duplicate(*pair, "a row before it", "A row of the frame")

    found = entries.sorted(last - first, len(items), duplicates, complain)
    return shard_of_rows(found.view(last - first), len(items), first)
