"""How shares of rows are dealt out. Every row's result depends on the row alone, so the dealer cannot matter."""

from kolmogorov.execution.threads import Threads

__all__ = ["Threads"]
