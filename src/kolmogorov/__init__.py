"""Kolmogorov models: complete a table of yes/no quantities with probabilities, and explain them.

Names are imported when they are first used, so that ``import kolmogorov`` is quick.
"""

from importlib import import_module
from typing import Any

from kolmogorov._version import __version__

_HOMES = {
    "BayesianKolmogorovModel": "kolmogorov.models.bayesian",
    "KolmogorovImputer": "kolmogorov.models.imputer",
    "KolmogorovModel": "kolmogorov.models.kolmogorov",
    "ListModel": "kolmogorov.models.lists",
    "Cuda": "kolmogorov.gpu.cuda",
    "Dask": "kolmogorov.cluster",
    "Observations": "kolmogorov.data.observations",
    "associations": "kolmogorov.interpret.mining",
    "bqp": "kolmogorov.solvers.bqp",
    "datasets": "kolmogorov.data.datasets",
    "errors": "kolmogorov.errors",
    "interpret": "kolmogorov.interpret",
    "load": "kolmogorov.models.loading",
    "metrics": "kolmogorov.models.metrics",
    "pack": "kolmogorov.data.read",
    "read_answers": "kolmogorov.data.read",
    "read_ratings": "kolmogorov.data.read",
    "solvers": "kolmogorov.solvers",
    "tune": "kolmogorov.models.tuning",
}

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kolmogorov' has no attribute {name!r}")
    module = import_module(_HOMES[name])
    value = getattr(module, name, module)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
