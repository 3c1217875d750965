"""What a model is asked in bulk: probabilities of many pairs, lists of many users; computed where an execution says."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.execution import Cuda
from kolmogorov.fitted.base import Trained
from kolmogorov.surface.gpu import ListRules, Lists, lists_on_gpu, pairs_on_gpu


@singledispatch
def pair_probabilities(execution: Any, fitted: Trained, users: Rows, items: Rows) -> Floats:
    """Return the probabilities of aligned rows."""
    return fitted.at_rows(users, items)


@singledispatch
def lists_at_once(execution: Any, fitted: Trained, users: Rows, hidden: Rows, rules: ListRules) -> Lists | None:
    """Return the best items of all users, or None where they are made here, some users at a time.

    Items that the users `hidden` were observed with are left out.
    """
    return None


pair_probabilities.register(Cuda, pairs_on_gpu)
lists_at_once.register(Cuda, lists_on_gpu)
