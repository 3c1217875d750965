"""`BayesianKolmogorovModel`: models drawn from the posterior, and their average."""

from __future__ import annotations

import hashlib
import numbers
import os
import sys
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np

from kolmogorov._support.callbacks import says_stop
from kolmogorov._support.files import check_writable
from kolmogorov._support.progress import notice
from kolmogorov._support.seeds import base_seed
from kolmogorov._support.threads import one_blas_thread, thread_count
from kolmogorov._support.validation import (
    LARGEST_RIDGE,
    Between,
    Callback,
    Flag,
    Instance,
    Integer,
    OneOf,
    Optional,
    Requirement,
    check_parameters,
)
from kolmogorov._support.warn import warn
from kolmogorov.data.observations import Observations
from kolmogorov.data.trainable import check_any, check_trainable
from kolmogorov.errors import ConvergenceWarning, DataError
from kolmogorov.execution import Dask, Threads
from kolmogorov.fitting.trained import checked
from kolmogorov.model.drawn import DrawnModel
from kolmogorov.sampling.checkpoint import ChainCheckpoint, SamplerState
from kolmogorov.sampling.convergence import convergence_of
from kolmogorov.sampling.plan import Plan
from kolmogorov.sampling.priors import rating_features
from kolmogorov.sampling.sampler import Sampler, SamplingProgress
from kolmogorov.surface.tables import table_of

Likelihood = Literal["auto", "gaussian", "bernoulli"]
_RULES: dict[str, Requirement] = {
    "n_events": Integer(1),
    "likelihood": OneOf(("auto", "gaussian", "bernoulli")),
    "n_chains": Integer(1),
    "burn_in": Integer(1),
    "n_samples": Integer(1),
    "thin": Integer(1),
    "item_classes": Integer(1),
    "n_features": Integer(0),
    "concentration": Optional(Between(0.0, LARGEST_RIDGE)),
    "execution": Optional(Instance(Dask)),
    "callback": Callback(),
    "verbose": Flag(),
}


class BayesianKolmogorovModel(DrawnModel):
    """Draw Kolmogorov models from their posterior and predict with their average.

    The average of Kolmogorov models is one itself (`as_model`), predicts better than any single one, and the draws'
    spread says how sure it is.

    Parameters
    ----------
    n_events : int
        Of each draw.
    likelihood : {"auto", "gaussian", "bernoulli"}
        Answers with normal noise, of a variance that depends on the user; or yes and no. "auto" takes "bernoulli" for
        0/1 data.
    n_chains : int
        Independent chains, started apart.
    burn_in : int
        Sweeps at the start of each chain that are not kept; the users' prior is learned during them.
    n_samples : int
        Draws kept of each chain.
    thin : int
        Sweeps between two draws kept.
    item_classes : int
        Classes of items in the prior; each has its own frequency of every event.
    n_features : int
        How many features of which items a user was observed with may shift the prior of theta.
    concentration : float, optional
        Of theta's prior: its precision with noise, the sum of its Dirichlet's parameters with yes/no data. By default
        it is learned: with noise during burn-in, with yes/no data all along.
    random_state : int, Generator or None
        The same integer gives the same bits on any number of threads.
    n_jobs : int or None
        Threads; -1 for all processors, None for one.
    execution : kolmogorov.execution.Dask, optional
        A cluster on which the chains run, each as a task on one thread. The draws are the same.
    callback : callable, optional
        Called with a `SamplingProgress` after every sweep, on a cluster after every chain; returning True ends
        sampling, at the first draw kept if there is none yet. A chain that is ended early is left out unless it is the
        first.
    checkpoint : path, optional
        File from which a killed fit goes on.
    verbose : int

    Attributes
    ----------
    posterior_ : Posterior
        The draws; `fitted_` is another name for them.

    Examples
    --------
    >>> import kolmogorov as km
    >>> train, test = km.datasets.load("zoo").split(test_size=0.2, random_state=0)
    >>> model = km.BayesianKolmogorovModel(5, n_chains=2, burn_in=30, n_samples=10, random_state=0).fit(train)
    >>> low, high = model.predict_interval("dolphin", "milk", of="probability")
    >>> bool(low <= model.predict("dolphin", "milk") <= high)
    True
    """

    def __init__(
        self,
        n_events: int = 24,
        *,
        likelihood: Likelihood = "auto",
        n_chains: int = 4,
        burn_in: int = 100,
        n_samples: int = 25,
        thin: int = 8,
        item_classes: int = 8,
        n_features: int = 10,
        concentration: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = -1,
        execution: Dask | None = None,
        callback: Callable[[SamplingProgress], Any] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_events = n_events
        self.likelihood = likelihood
        self.n_chains = n_chains
        self.burn_in = burn_in
        self.n_samples = n_samples
        self.thin = thin
        self.item_classes = item_classes
        self.n_features = n_features
        self.concentration = concentration
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.execution = execution
        self.callback = callback
        self.checkpoint = checkpoint
        self.verbose = verbose

    usual_grid: ClassVar = {"n_events": (4, 8, 16, 24)}

    # --- learning ---------------------------------------------------------------------------------------

    def fit(self, X: Any, y: None = None, *, test: Observations | None = None) -> Self:
        """Draw models given a table.

        Parameters
        ----------
        X : Observations, sparse matrix or array, or dense array
            As for `KolmogorovModel.fit`.
        y : None
            Ignored.
        test : Observations, optional
            Held-out data, on which the running error is shown.
        """
        self.check_parameters()
        table = table_of(self, X, reset=True)
        if test is not None and not isinstance(test, Observations):
            raise DataError(f"'test' must be Observations, got {type(test).__name__}.")
        table.check_intact()
        check_trainable(table)
        if test is not None:
            check_any(test, "to test on")
        sampler = self._sampler(table, None if test is None else test.rescaled(table.scale))
        with one_blas_thread():
            sampler.execute(self.execution or Threads(self.n_jobs))
        self.adopt(checked(sampler.posterior()))
        found = convergence_of(self.fitted_)
        if found.settled:
            notice(str(found))
        else:
            warn(f"{found}.", ConvergenceWarning)
        return self

    def _sampler(self, table: Observations, test: Observations | None) -> Sampler:
        plan, seed = self._plan(table), base_seed(self.random_state)
        with one_blas_thread():
            features = rating_features(table, int(self.n_features))
        keeper, progress = None, SamplerState(seed)
        if self.checkpoint is not None:
            fixed = isinstance(self.random_state, numbers.Integral)
            keeper = ChainCheckpoint(self.checkpoint, self._identity(table, plan), seed if fixed else None)
            check_writable(self.checkpoint)
            progress = keeper.read(features, table, plan) or progress
        return Sampler(plan, table, features, progress, keeper, test, self._on_sweep)

    # --- inside -----------------------------------------------------------------------------------------

    def check_parameters(self) -> None:
        """Raise for the first parameter that is not in order."""
        check_parameters(type(self).__name__, self.get_params(deep=False), _RULES)
        thread_count(self.n_jobs)

    def _plan(self, table: Observations) -> Plan:
        return Plan(
            likelihood=self._likelihood(table),
            n_events=int(self.n_events),
            n_chains=int(self.n_chains),
            burn_in=int(self.burn_in),
            n_samples=int(self.n_samples),
            thin=int(self.thin),
            n_classes=int(self.item_classes),
            concentration=None if self.concentration is None else float(self.concentration),
        )

    def _likelihood(self, table: Observations) -> str:
        if self.likelihood == "auto":
            return "bernoulli" if table.is_binary and _whole(table) else "gaussian"
        if self.likelihood == "bernoulli" and not table.is_binary:
            raise DataError("likelihood 'bernoulli' is for values 0 and 1; these data have others. Use 'gaussian'.")
        if self.likelihood == "bernoulli" and not _whole(table):
            raise DataError("With likelihood 'bernoulli' weights must be whole numbers: how often an answer was given.")
        return str(self.likelihood)

    def _identity(self, table: Observations, plan: Plan) -> str:
        names = ("n_events", "n_chains", "burn_in", "n_samples", "thin", "item_classes", "n_features", "concentration")
        text = repr(([getattr(self, name) for name in names], plan.likelihood, table.fingerprint()))
        return hashlib.sha256(text.encode()).hexdigest()

    def _on_sweep(self, draw: SamplingProgress) -> bool:
        if self.verbose:
            error = "" if draw.rmse is None else f"  held-out rmse {draw.rmse:.4f}"
            sys.stderr.write(f"chain {draw.chain + 1}/{draw.n_chains}  sweep {draw.sweep}/{draw.n_sweeps}{error}\n")
        return self.callback is not None and says_stop(self.callback(draw))


def _whole(table: Observations) -> bool:
    return table.weights is None or bool((table.weights == np.floor(table.weights)).all())
