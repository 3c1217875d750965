"""`kolmogorov doctor`: what a bug report should begin with."""

from __future__ import annotations

import click

from kolmogorov.cli.command import Verb


@click.command("doctor", cls=Verb)
def command() -> None:
    """Show versions, threads, caches and installed extras.

    Kernels are compiled when first called, and kept beside the package or in NUMBA_CACHE_DIR.

    \b
    Example:
      kolmogorov doctor
    """
    from kolmogorov.cli.display import console, table

    facts = _facts()
    console().print(table("kolmogorov doctor", {"what": list(facts), "is": list(facts.values())}))


def _cache() -> str | None:
    """Return where compiled kernels are kept, if anywhere."""
    from kolmogorov.solvers.rows import normal_equations

    stats = getattr(normal_equations, "stats", None)
    return stats.cache_path if stats is not None else None


def _gpu() -> str:
    """Say which GPU there is, or why there is none."""
    from kolmogorov.errors import KolmogorovError
    from kolmogorov.gpu.cuda import Cuda

    try:
        return str(Cuda().found())
    except KolmogorovError as error:
        return f"none: {error}"


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _extras() -> dict[str, str]:
    """Say of each extra which of its packages are not there; of those that only some Pythons need nothing is said."""
    import re
    from importlib.metadata import requires

    if _version("kolmogorov") is None:
        return {"extras": "unknown: the metadata of kolmogorov is not installed"}
    wanted: dict[str, list[str]] = {}
    for line in requires("kolmogorov") or ():
        found = re.fullmatch(r"([\w.-]+).*\bextra == ['\"]([\w-]+)['\"].*", line)
        if found and "python_version" not in line:
            wanted.setdefault(found[2], []).append(found[1])
    absent = {extra: ", ".join(filter(lambda name: _version(name) is None, wanted[extra])) for extra in sorted(wanted)}
    return {
        f"extra {extra}": f"{names} missing; in the clone: pip install '.[{extra}]'" if names else "installed"
        for extra, names in absent.items()
    }


def _facts() -> dict[str, str]:
    import os
    import platform
    import sys

    import numba
    import numpy
    from threadpoolctl import threadpool_info

    from kolmogorov import __version__
    from kolmogorov._support.threads import usable_cpus
    from kolmogorov.data.datasets import data_directories

    facts = {"kolmogorov": __version__, "Python": sys.version.split()[0], "platform": platform.platform()}
    for package in ("numpy", "scipy", "numba", "scikit-learn", "threadpoolctl", "pyarrow", "click", "rich"):
        facts[package] = _version(package) or "missing"
    numpy.ones((2, 2)) @ numpy.ones((2, 2))
    blas = [f"{pool['internal_api']} {pool['version']}" for pool in threadpool_info() if pool["user_api"] == "blas"]
    facts["BLAS"] = ", ".join(sorted(set(blas))) or "unknown"
    facts["usable processors"] = str(usable_cpus())
    facts["compiler"] = "disabled" if getattr(numba.config, "DISABLE_JIT", False) else "numba"
    facts["kernel cache"] = _cache() or "none: compiled in every process"
    facts["GPU"] = _gpu()
    facts["datasets"] = ", ".join(map(str, data_directories()))
    facts |= _extras()
    for name in ("KOLMOGOROV_DATA", "KOLMOGOROV_DEBUG", "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "OMP_NUM_THREADS"):
        if name in os.environ:
            facts[name] = os.environ[name]
    return facts
