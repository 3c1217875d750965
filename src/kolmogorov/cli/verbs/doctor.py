"""`kolmogorov doctor`: what a bug report should begin with."""

from __future__ import annotations

import click

from kolmogorov.cli.command import Verb, doing


@click.command("doctor", cls=Verb)
@click.option("--warm", "--warm-up", is_flag=True, help="Compile now; later commands start faster.")
def command(warm: bool) -> None:
    """Show versions, threads, caches and installed extras.

    Kernels are compiled when first called, and kept beside the package or in NUMBA_CACHE_DIR. --warm compiles what fit,
    predict, recommend, explain and rules need; use it when building a container image.

    \b
    Examples:
      kolmogorov doctor
      kolmogorov doctor --warm
    """
    from kolmogorov.cli.display import console, table

    if warm:
        doing("Compiling")
        _warm()
        return
    facts = _facts()
    console().print(table("kolmogorov doctor", {"what": list(facts), "is": list(facts.values())}))


def _warm() -> None:
    from kolmogorov._support.progress import silence
    from kolmogorov._support.wording import shown
    from kolmogorov.cli.display import console
    from kolmogorov.cli.precompilation import warm

    total, seconds = 0, 0.0
    with silence():
        for words, compiled, took in warm():
            console().print(f"{took:6.1f} s  {compiled:3d} compiled  {words}")
            total, seconds = total + compiled, seconds + took
    kept = f"kept in {shown(_cache())}" if _cache() else "for this process only: no folder can be written"
    console().print(f"Kernels ready in {seconds:.1f} s: {total} compiled, {kept}.")


def _cache() -> str | None:
    """Return where compiled kernels are kept, if anywhere."""
    from kolmogorov.kernels.rows.gram import normal_equations

    stats = getattr(normal_equations, "stats", None)
    return stats.cache_path if stats is not None else None


def _gpu() -> str:
    """Say which GPU there is, or why there is none."""
    from kolmogorov.errors import KolmogorovError
    from kolmogorov.execution import Cuda

    try:
        return str(Cuda().found())
    except KolmogorovError as error:
        return f"none: {error}"


def _facts() -> dict[str, str]:
    import os
    import platform
    import sys
    from importlib.metadata import PackageNotFoundError, version

    import numba
    import numpy
    from threadpoolctl import threadpool_info

    from kolmogorov import __version__
    from kolmogorov._support.optional import extras, missing
    from kolmogorov._support.threads import usable_cpus
    from kolmogorov.data.datasets.movielens import data_directories

    facts = {"kolmogorov": __version__, "Python": sys.version.split()[0], "platform": platform.platform()}
    for package in ("numpy", "scipy", "numba", "scikit-learn", "threadpoolctl", "narwhals", "click", "rich"):
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "missing"
    numpy.ones((2, 2)) @ numpy.ones((2, 2))
    blas = [f"{pool['internal_api']} {pool['version']}" for pool in threadpool_info() if pool["user_api"] == "blas"]
    facts["BLAS"] = ", ".join(sorted(set(blas))) or "unknown"
    facts["usable processors"] = str(usable_cpus())
    facts["compiler"] = "disabled" if getattr(numba.config, "DISABLE_JIT", False) else "numba"
    facts["kernel cache"] = _cache() or "none: compiled in every process"
    facts["GPU"] = _gpu()
    facts["datasets"] = ", ".join(map(str, data_directories()))
    known = extras()
    for extra, packages in known.items():
        absent = missing(packages)
        lacking = f"{', '.join(absent)} missing; in the clone: pip install '.[{extra}]'"
        facts[f"extra {extra}"] = lacking if absent else "installed"
    if not known:
        facts["extras"] = "unknown: the metadata of kolmogorov is not installed"
    for name in ("KOLMOGOROV_DATA", "KOLMOGOROV_DEBUG", "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "OMP_NUM_THREADS"):
        if name in os.environ:
            facts[name] = os.environ[name]
    return facts
