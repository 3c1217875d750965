"""What a run of the tests left out, in a line for each cause, with the command that would change it."""

import re
from collections import Counter

#: Reasons for which tests are skipped, what the tests are, what is missing, and what helps.
CAUSES = [
    (r"chromium|playwright|browser", "browser tests", "no chromium", None),
    (r"MovieLens", "MovieLens tests", "no MovieLens 100K", "KOLMOGOROV_DATA=FOLDER make test, with ml-100k there"),
    (
        r"Beasley",
        "tests of Beasley's instances",
        "no instances",
        "KOLMOGOROV_DATA=FOLDER make test, with bqp there",
    ),
    (r"make test-peers", "tests of harnesses and ArviZ", "no packages of others", "make test-peers"),
    (r"extra '(?P<extra>\w+)'", "tests", "no extra '{extra}'", ".venv/bin/pip install -e '.[{extra}]'"),
    (r"could not import '(?P<module>\w+)", "tests", "no {module}", ".venv/bin/pip install -e '.[all]'"),
]


def summary(reasons, browser_remedy):
    """Return lines for the reasons of all skipped tests."""
    counts = Counter(_cause(reason, browser_remedy) for reason in reasons)
    lines = []
    for (tests, missing, remedy), n in counts.items():
        words = tests if n > 1 else tests.replace("tests", "test")
        lines.append(f"{n} {words} skipped: {missing}" + (f"; run: {remedy}" if remedy else ""))
    return lines


def left_out(counts):
    """Return lines for the long tests that were left out, given how many there are of each kind."""
    total = sum(counts.values())
    if not total:
        return []
    kinds = ", ".join(f"{kind} ({n})" for kind, n in sorted(counts.items(), key=lambda pair: -pair[1]))
    return [f"{total:,} long test{'s were' if total > 1 else ' was'} left out: {kinds}; run: make test-all"]


def _cause(reason, browser_remedy):
    for pattern, tests, missing, remedy in CAUSES:
        found = re.search(pattern, reason)
        if found:
            words = found.groupdict()
            return tests, missing.format(**words), (remedy or browser_remedy).format(**words)
    return "tests", reason.removeprefix("Skipped: "), None
