"""What people call users and items: two columns, an id and a text, from a file, a frame or a dictionary."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kolmogorov._support.progress import notice
from kolmogorov.data.columns import ID_NAMES, TITLE_NAMES, candidates, plain
from kolmogorov.data.sources import WHITESPACE, TextSource, first_separator, is_table, sources_of
from kolmogorov.data.vocabulary import Vocabulary, id_text
from kolmogorov.errors import DataError


def titled(vocabulary: Vocabulary, given: Any, what: str) -> Vocabulary:
    """Return the same ids with titles; an id without a title keeps the one that it had, or is its own."""
    if given is None:
        return vocabulary
    texts = texts_of(given, what)
    found = {i: texts[i] for i in vocabulary.ids.tolist() if texts.get(i)}
    if len(vocabulary) and not found:
        came = f"they are for ids such as {next(iter(texts))!r}" if texts else "there are none"
        ours = vocabulary.ids.item(0)
        raise DataError(f"No {what} has one of these titles: {came}, and the {what}s here are such as {ours!r}.")
    if vocabulary.labels is not None:
        found = dict(zip(vocabulary.ids.tolist(), vocabulary.labels.tolist(), strict=True)) | found
    if len(found) < len(vocabulary):
        notice(f"{len(found):,} of {len(vocabulary):,} {what}s have a title; the others go by their ids")
    return vocabulary.with_labels(found)


def texts_of(given: Any, what: str = "item") -> dict[str, str]:
    """Return titles by ids, both as texts; `given` is a dictionary, a data frame or a path."""
    if not isinstance(given, (Mapping, str, os.PathLike)) and not is_table(given):
        raise DataError(
            f"Titles of {what}s are a dictionary, a data frame of two columns or a file of them, got "
            f"{type(given).__name__}."
        )
    pairs: Iterable[tuple[Any, Any]] = given.items() if isinstance(given, Mapping) else _pairs(given)
    return {
        str(id_text(identifier) or identifier): str(title).strip()
        for identifier, title in pairs
        if identifier is not None and title is not None and title == title
    }


def _pairs(given: Any) -> Iterator[tuple[Any, Any]]:
    """Yield ids and titles of a file or a frame."""
    source = sources_of(given)[0]
    if isinstance(source, TextSource):
        # A title may hold any separator but the first.
        source = TextSource(given, sep=first_separator(source.first_line))
        if _columns(source.first) is not None:
            source.take_header()
    if len(source.names) < 2:
        shown = ", ".join(map(str, source.names)) or "none"
        raise DataError(f"{source.name} must have two columns, an id and a text; there is {shown}.")
    if isinstance(source, TextSource) and source.separator == WHITESPACE:
        # Titles have blanks themselves.
        for parts in filter(None, (line.split(maxsplit=1) for line in source.lines())):
            if len(parts) < 2:
                raise DataError(f"{source.name}: expected an id and a title in each line, got {parts[0][:40]!r}.")
            yield parts[0], parts[1]
        return
    for identifiers, titles in source.batches((_columns(source.names) if source.named else None) or (0, 1)):
        yield from zip(identifiers.to_pylist(), titles.to_pylist(), strict=True)


def _columns(names: Sequence[str]) -> tuple[int, int] | None:
    """Find id and title by their usual names; None where one of them has none."""
    known = [plain(name) for name in names]
    title = next((k for end in TITLE_NAMES for k, name in enumerate(known) if name.endswith(end)), None)
    sure = [k for name in ID_NAMES for k, found in enumerate(known) if found == name and k != title]
    others = ["" if k == title else name for k, name in enumerate(names)]
    usual = [at for role in ("item", "user") for at in candidates(others, role)]
    return None if title is None or not sure + usual else ((sure + usual)[0], title)
