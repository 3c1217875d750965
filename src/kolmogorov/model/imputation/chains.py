"""What estimators that draw chains are told: how many events, chains and draws, from which seed, on which threads."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from sklearn.base import BaseEstimator

from kolmogorov._support.threads import thread_count
from kolmogorov._support.validation import Either, Integer, Requirement, Word, check_parameters


class ChainEstimator(BaseEstimator):  # type: ignore[misc]
    """Base of estimators that draw chains; their classes say what the parameters mean."""

    #: What parameters must be; a class adds its own.
    _rules: ClassVar[dict[str, Requirement]] = {
        "n_events": Either(Integer(1), Word("auto")),
        "n_chains": Integer(1),
        "burn_in": Integer(1),
        "n_samples": Integer(1),
    }

    def __init__(
        self,
        n_events: int | Literal["auto"] = "auto",
        *,
        n_chains: int = 4,
        burn_in: int = 150,
        n_samples: int = 20,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.n_events = n_events
        self.n_chains = n_chains
        self.burn_in = burn_in
        self.n_samples = n_samples
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_parameters(type(self).__name__, vars(self), self._rules)
        thread_count(self.n_jobs)

    @property
    def _lengths(self) -> tuple[int, int, int]:
        """Numbers of chains, of sweeps that are not kept, and of draws that are kept."""
        return self.n_chains, self.burn_in, self.n_samples
