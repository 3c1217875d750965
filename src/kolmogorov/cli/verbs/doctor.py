"""`kolmogorov doctor`: what a bug report should begin with."""

from __future__ import annotations

import click

from kolmogorov.cli.shell import Verb

_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "threadpoolctl", "pyarrow", "click", "rich")
_VARIABLES = ("KOLMOGOROV_DATA", "KOLMOGOROV_DEBUG", "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "OMP_NUM_THREADS")


@click.command("doctor", cls=Verb)
def command() -> None:
    """Show versions, threads, caches and installed extras.

    Kernels are compiled when first called, and kept beside the package or in NUMBA_CACHE_DIR.

    \b
    Example:
      kolmogorov doctor
    """
    import os
    import platform
    import sys

    import numpy
    from threadpoolctl import threadpool_info

    from kolmogorov import __version__
    from kolmogorov._support.threads import usable_cpus
    from kolmogorov.cli.display import console, table
    from kolmogorov.data.datasets import data_directories
    from kolmogorov.solvers.rows import normal_equations

    facts = {"kolmogorov": __version__, "Python": sys.version.split()[0], "platform": platform.platform()}
    facts |= {package: _version(package) or "missing" for package in _PACKAGES}
    numpy.ones((2, 2)) @ numpy.ones((2, 2))
    pools = threadpool_info()
    blas = {f"{pool['internal_api']} {pool['version']}" for pool in pools if pool["user_api"] == "blas"}
    facts["BLAS"] = ", ".join(sorted(blas)) or "unknown"
    facts["usable processors"] = str(usable_cpus())
    stats = getattr(normal_equations, "stats", None)
    facts["kernel cache"] = "none: compiled in every process" if stats is None else str(stats.cache_path)
    facts["GPU"] = _gpu()
    facts["datasets"] = ", ".join(map(str, data_directories()))
    facts["extras with packages that are missing"] = _extras()
    facts |= {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    console().print(table("kolmogorov doctor", {"what": list(facts), "is": list(facts.values())}))


def _gpu() -> str:
    """Say which GPU there is, or why there is none."""
    from kolmogorov.errors import KolmogorovError
    from kolmogorov.gpu.cuda import Cuda

    try:
        return Cuda().found()
    except KolmogorovError as error:
        return f"none: {error}"


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _extras() -> str:
    """Name the extras of which a package is not there; of those that only some Pythons need nothing is said."""
    import re
    from importlib.metadata import requires

    if _version("kolmogorov") is None:
        return "unknown: the metadata of kolmogorov is not installed"
    pattern = re.compile(r"([\w.-]+).*\bextra == ['\"]([\w-]+)['\"].*")
    wanted = [pattern.fullmatch(line) for line in requires("kolmogorov") or () if "python_version" not in line]
    absent = sorted({found[2] for found in wanted if found and _version(found[1]) is None})
    return ", ".join(f"pip install '.[{extra}]'" for extra in absent) or "none"
