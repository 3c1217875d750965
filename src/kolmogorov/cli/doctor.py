"""`kolmogorov doctor`: what a bug report should begin with."""

from __future__ import annotations

import click


@click.command("doctor")
@click.option("--warm-up", is_flag=True, help="Compile the kernels now, so that the first fit need not.")
def command(warm_up: bool) -> None:
    """Print versions, threads, BLAS, cache locations, and which extras are installed.

    \b
    Example:
      kolmogorov doctor
    """
    from kolmogorov.cli.display import console, table

    facts = _facts()
    console().print(table("kolmogorov doctor", {"what": list(facts), "is": list(facts.values())}))
    if warm_up:
        import time

        from kolmogorov import KolmogorovModel, datasets

        began = time.perf_counter()
        toy = datasets.load("toy")
        for solver in ("exhaustive", "local_search"):
            model = KolmogorovModel(4, binary_solver=solver, max_iter=2, random_state=0).fit(toy)
            model.evaluate(toy)
        console().print(f"Kernels ready in {time.perf_counter() - began:.1f} s")


def _facts() -> dict[str, str]:
    import os
    import platform
    import sys
    from importlib.metadata import PackageNotFoundError, version

    import numba
    import numpy
    from threadpoolctl import threadpool_info

    from kolmogorov import __version__
    from kolmogorov._support.optional import EXTRAS, installed
    from kolmogorov._support.threads import usable_cpus
    from kolmogorov.data.datasets.storage import data_directories
    from kolmogorov.kernels.gram import normal_equations

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
    stats = getattr(normal_equations, "stats", None)
    facts["kernel cache"] = str(stats.cache_path) if stats is not None and stats.cache_path else "none: compiled anew"
    facts["datasets"] = ", ".join(map(str, data_directories()))
    for extra, modules in EXTRAS.items():
        there = all(installed(module) for module in modules)
        facts[f"extra {extra}"] = "installed" if there else f"pip install 'kolmogorov[{extra}]'"
    for name in ("KOLMOGOROV_DATA", "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "OMP_NUM_THREADS"):
        if name in os.environ:
            facts[name] = os.environ[name]
    return facts
