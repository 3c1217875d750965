"""What an installation brings: distributions, megabytes, systems with wheels; for the core, each extra and each peer.

    python benchmarks/install.py [NAME ...]

With names only these are weighed, and their rows take their places among the stored ones.
pip says what it would install into an empty environment on this system; every distribution is then installed once, into
a folder of its own, and weighed (sizes of files, without bytecode). A system counts where the package and all that it
requires directly have wheels for it and for this Python; elsewhere a compiler is needed. Needs an index of packages.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
import urllib.request
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from harness import Column, Table, finish

ROOT = Path(__file__).resolve().parents[1]
INDEX = "https://pypi.org/simple"
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
PEERS = ["scikit-surprise", "implicit", "cmfrec", "myfm", "lenskit", "scikit-learn", "mlxtend", "pyLDAvis"]
#: How the tag of a wheel for a system looks.
SYSTEMS = {
    "Linux": r"(many|musl)linux.*x86_64",
    "Linux on ARM": r"(many|musl)linux.*aarch64",
    "macOS on ARM": r"macosx.*(arm64|universal2)",
    "macOS on Intel": r"macosx.*(x86_64|universal2)",
    "Windows": r"win_amd64",
}


def main() -> None:
    """Weigh what was asked for."""
    columns = [Column("installed"), Column("version"), Column("distributions", "d"), Column("MB", ",.0f")]
    columns += [Column("MB more than the core", ",.0f"), Column("wheels for")]
    version = ".".join(map(str, sys.version_info[:2]))
    title = f"Into an empty environment on {sys.platform}, Python {version}, from an index of packages"
    command = "python benchmarks/install.py"
    ours = Table("install", title, command, columns)
    theirs = Table("install-peers", title, command, [*columns[:4], columns[-1]])
    with tempfile.TemporaryDirectory() as folder:
        targets, alone = wanted(Path(folder))
        core = 0.0
        for name, requirement in targets.items():
            found = resolved(requirement, folder)
            megabytes = sum(weight(one["download_info"]["url"]) for one in found)
            core = core or megabytes
            more = megabytes - core if name not in ("kolmogorov", *PEERS) else None
            first = next(one for one in found if one["requested"])
            extra = name.partition("[")[2].rstrip("]")
            row = name, first["metadata"]["version"], len(found), megabytes, more, systems(first, found, extra)
            if name not in PEERS:
                ours.add(*row)
            if not extra:
                theirs.add(*row[:4], row[-1])
    for table in (ours, theirs):
        if alone is not None:
            table.rows = among_stored(table, list(every(Path())))
    finish(ours, theirs)


def among_stored(table: Table, order: list[str]) -> list[list[Any]]:
    """Return the stored rows of a table with its own in their places."""
    rows = {row[0]: row for row in Table.read(table.name).rows} | {row[0]: row for row in table.rows}
    return [rows[name] for name in order if name in rows]


def wanted(folder: Path) -> tuple[dict[str, str], list[str] | None]:
    """Return what is to be weighed and pip's words for it, and what was asked for alone."""
    subprocess.run([*PIP, "wheel", "--no-deps", "--wheel-dir", folder, ROOT], check=True)
    (wheel,) = folder.glob("*.whl")
    found, alone = every(wheel), sys.argv[1:] or None
    # The others are compared with the core.
    return found if alone is None else {name: found[name] for name in dict.fromkeys(["kolmogorov", *alone])}, alone


def every(wheel: Path) -> dict[str, str]:
    """Return pip's words for the core, each extra and each peer, by their names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = {"kolmogorov": str(wheel)}
    found |= {f"kolmogorov[{extra}]": f"{wheel}[{extra}]" for extra in project["optional-dependencies"]}
    return found | {peer: peer for peer in PEERS}


def resolved(requirement: str, folder: str) -> list[dict[str, Any]]:
    """Return the distributions that pip would install, as its report describes them."""
    report = Path(folder) / "report.json"
    command = [*PIP, "install", "--dry-run", "--ignore-installed", "--report", str(report), requirement]
    subprocess.run(command, check=True)
    found: list[dict[str, Any]] = json.loads(report.read_text("utf-8"))["install"]
    return found


@cache
def weight(url: str) -> float:
    """Install one distribution alone; return its megabytes."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*PIP, "install", "--no-deps", "--no-compile", "--target", folder, url], check=True)
        return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()) / 1e6


# --- systems ---------------------------------------------------------------------------------------------------------


def systems(package: dict[str, Any], found: Iterable[dict[str, Any]], extra: str) -> str:
    """Return the systems for which the package and what it, or its extra, requires have wheels."""
    versions = {plain(one["metadata"]["name"]): one["metadata"]["version"] for one in found}
    name = plain(package["metadata"]["name"])
    required = {*direct(package, ""), *(direct(package, extra) if extra else ())}
    # Ours is pure Python, and may not be on the index yet.
    asked = required - {name} if name == "kolmogorov" else {name, *required}
    have = [wheels(one, versions[one]) for one in asked]
    common = [system for system in SYSTEMS if all(system in some for some in have)]
    return "all of them" if len(common) == len(SYSTEMS) else ", ".join(common) or "none"


def direct(package: dict[str, Any], extra: str) -> Iterable[str]:
    """Return the names of what a package requires on every system, or what one of its extras requires."""
    for line in package["metadata"].get("requires_dist", ()):
        words, _, marker = line.partition(";")
        asked = re.search(r"""extra\s*==\s*['"]([\w-]+)""", marker)
        if (asked[1] if asked else "") != extra or (marker and not asked):
            continue
        match = re.match(r"([\w.-]+)\s*(?:\[([^]]*)\])?", words)
        assert match is not None
        yield plain(match[1])
        if plain(match[1]) == plain(package["metadata"]["name"]):
            for other in match[2].split(","):
                yield from direct(package, other.strip())


def plain(name: str) -> str:
    """Return a distribution's name as indexes write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def wheels(name: str, version: str) -> frozenset[str]:
    """Return the systems for which a version has wheels for this Python."""
    with urllib.request.urlopen(f"{INDEX}/{name}/", timeout=60) as page:
        files = re.findall(r">\s*([^<>\s]+\.whl)\s*</a>", page.read().decode("utf-8"))
    found: set[str] = set()
    for file in files:
        parts = file.removesuffix(".whl").split("-")
        if parts[1] == version and fits(*parts[-3:-1]):
            found |= {system for system, tag in SYSTEMS.items() if parts[-1] == "any" or re.search(tag, parts[-1])}
    return frozenset(found)


def fits(python: str, abi: str) -> bool:
    """Tell whether tags of a wheel allow for this Python."""
    major, minor = sys.version_info[:2]
    for tag in python.split("."):
        since = re.fullmatch(r"cp3(\d+)", tag)
        if tag.startswith("py3") or (tag == f"cp{major}{minor}" and not abi.endswith("t")):
            return True
        if since and abi == "abi3" and int(since[1]) <= minor:
            return True
    return False


if __name__ == "__main__":
    main()
