"""`BayesianKolmogorovModel`: models drawn from the posterior, and their average."""

from __future__ import annotations

import numbers
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from kolmogorov._support.progress import notice, says_stop
from kolmogorov._support.seeds import base_seed
from kolmogorov._support.threads import thread_count
from kolmogorov._support.validation import (
    Callback,
    Either,
    Flag,
    Instance,
    Integer,
    OneOf,
    Optional,
    Positive,
    Real,
    Requirement,
    Word,
    check_parameters,
)
from kolmogorov.data.numbers.weights import LARGEST_WEIGHT
from kolmogorov.data.table.levels import MOST_LEVELS, Levels, LevelsRequirement
from kolmogorov.data.table.observations import Observations
from kolmogorov.data.table.trainable import check_any, check_trainable
from kolmogorov.errors import DataError, ParameterError
from kolmogorov.execution import Cuda, Dask, Threads
from kolmogorov.fitting.descent.objective import usual_weight
from kolmogorov.model.drawn import DrawnModel
from kolmogorov.sampling.convergence import convergence_of
from kolmogorov.sampling.drawing import Drawing
from kolmogorov.sampling.levels import level_grid
from kolmogorov.sampling.plan import Plan, likelihood_of, settled_weight
from kolmogorov.sampling.sampler import SamplingProgress
from kolmogorov.sampling.sizes import Sizes, suited
from kolmogorov.surface.tables import table_of

Likelihood = Literal["auto", "gaussian", "bernoulli", "categorical"]
Auto = Literal["auto"]
_RULES: dict[str, Requirement] = {
    "n_events": Either(Integer(1), Word("auto")),
    "levels": LevelsRequirement(),
    "likelihood": OneOf(("auto", "gaussian", "bernoulli", "categorical")),
    "n_chains": Either(Integer(1), Word("auto")),
    "burn_in": Either(Integer(1), Word("auto")),
    "n_samples": Either(Integer(1), Word("auto")),
    "n_features": Either(Integer(0), Word("auto")),
    "unobserved": Either(Real(0.0, LARGEST_WEIGHT), Word("auto")),
    "max_seconds": Optional(Positive()),
    "execution": Optional(Either(Instance(Cuda), Instance(Dask))),
    "callback": Callback(),
    "verbose": Flag(),
}


class BayesianKolmogorovModel(DrawnModel):
    """Draw Kolmogorov models from their posterior and predict with their average.

    The average of Kolmogorov models is one itself (`as_model`), predicts better than any single one, and the draws'
    spread says how sure it is.

    Parameters
    ----------
    n_events : int or "auto"
        Of each draw. "auto" takes more for more ratings: 8 for 5,000, 15 for 100,000, 23 for a million; fewer where
        users or items have few ratings each, and at most 10 for yes/no data.
    levels : "auto", 2 or sequence of float
        The values that an item may take in an event, on the probability scale; 2 is the paper's model, in which it
        happens or not. "auto" takes, for ratings, a grid that reaches at least one scale beyond either end, and for 0/1
        data chances of a yes and beyond: what a draw says is then cut to a chance.
    likelihood : {"auto", "gaussian", "bernoulli", "categorical"}
        Answers with normal noise, of a variance that depends on the user; yes and no; or one of few ratings, which an
        event of each answer's own gives. "auto" takes "bernoulli" for 0/1 data and "gaussian" for others.
    n_chains : int or "auto"
        Independent chains, started apart; on several threads they run side by side. "auto" takes 8, and 4 from
        300,000 ratings on, or 100,000 that are yes/no.
    burn_in : int or "auto"
        Sweeps at the start of each chain that are not kept; the priors of users and of values are learned during them.
        "auto" takes 150, and 100 from 300,000 ratings on, or 100,000 that are yes/no.
    n_samples : int or "auto"
        Draws kept of each chain; "auto" takes 20.
    n_features : int or "auto"
        How many features of who was observed with what may shift the priors of users and of items. "auto" takes 30
        for 80,000 ratings, and at most 60.
    unobserved : float or "auto"
        Where only yes is recorded: what every entry that was not observed weighs, as a no. "auto" takes a weight by the
        density of the table. It goes with normal noise, and lies below all weights.
    max_seconds : float, optional
        Time for the chains: their length, and then their number, is cut to what fits. The draws then depend on how
        fast the machine is. Not on a cluster.
    random_state : int, Generator or None
        The same integer gives the same bits on any number of threads.
    n_jobs : int or None
        Threads; -1 for all processors, None for one.
    execution : kolmogorov.execution.Dask or kolmogorov.execution.Cuda, optional
        A cluster on which the chains run, each as a task on one thread: the draws are the same. Or a GPU on which they
        all run at once: the draws are others, the same from run to run.
    callback : callable, optional
        Called with a `SamplingProgress` after every sweep of every chain, on a cluster after every chain; returning
        True ends sampling, at the first draw kept if there is none yet. Chains that are ended early are left out unless
        none is through.
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
        n_events: int | Auto = "auto",
        *,
        levels: Levels = "auto",
        likelihood: Likelihood = "auto",
        n_chains: int | Auto = "auto",
        burn_in: int | Auto = "auto",
        n_samples: int | Auto = "auto",
        n_features: int | Auto = "auto",
        unobserved: float | Auto = 0.0,
        max_seconds: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = -1,
        execution: Cuda | Dask | None = None,
        callback: Callable[[SamplingProgress], Any] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_events = n_events
        self.levels = levels
        self.likelihood = likelihood
        self.n_chains = n_chains
        self.burn_in = burn_in
        self.n_samples = n_samples
        self.n_features = n_features
        self.unobserved = unobserved
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.execution = execution
        self.callback = callback
        self.checkpoint = checkpoint
        self.verbose = verbose

    _usual_grid: ClassVar = {"n_events": (4, 8, 16, 24)}

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
        self._check_parameters()
        table = table_of(self, X, reset=True)
        if test is not None and not isinstance(test, Observations):
            raise DataError(f"'test' must be Observations, got {type(test).__name__}.")
        table.rows.check_intact()
        check_trainable(table, only_yes=self.unobserved != 0.0)
        if test is not None:
            check_any(test, "to test on")
        drawing = Drawing(
            self._plan(table),
            base_seed(self.random_state),
            self._on_sweep,
            checkpoint=self.checkpoint,
            fixed_seed=isinstance(self.random_state, numbers.Integral),
            test=None if test is None else test.rescaled(table.scale),
            max_seconds=None if self.max_seconds is None else float(self.max_seconds),
        )
        drawn, _ = drawing.run(table, self.execution or Threads(self.n_jobs))
        self._adopt(drawn)
        notice(convergence_of(drawn).line)
        return self

    # --- inside -----------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Raise for the first parameter that is not in order."""
        check_parameters(type(self).__name__, self.get_params(deep=False), _RULES)
        thread_count(self.n_jobs)
        if self.max_seconds is not None and isinstance(self.execution, Dask):
            raise ParameterError("'max_seconds' does not go with 'execution': chains on a cluster are not cut short.")
        if isinstance(self.execution, Dask) and self.execution.gpu:
            raise ParameterError("Chains on a cluster run on threads. Leave 'gpu' out, or draw on one GPU: Cuda().")

    def _plan(self, table: Observations) -> Plan:
        """Return what `fit` would sample for a table: sizes by its size where they are left open."""
        likelihood = self._likelihood(table)
        names = ("n_events", "n_chains", "burn_in", "n_samples", "n_features")
        given = {name: getattr(self, name) for name in names}
        sizes = replace(self._sizes(table), **{name: int(n) for name, n in given.items() if n != "auto"})
        return Plan(
            **vars(sizes),
            likelihood=likelihood,
            levels=level_grid(self.levels, table, likelihood, sizes.n_events),
            unobserved=self._unobserved(table, likelihood),
        )

    def _unobserved(self, table: Observations, likelihood: str) -> float:
        if self.unobserved == 0.0:
            return 0.0
        if likelihood != "gaussian":
            raise ParameterError("'unobserved' goes with likelihood 'gaussian'.")
        wanted = usual_weight(len(table), table.n_users * table.n_items)
        if self.unobserved != "auto":
            wanted = float(self.unobserved)
            least = 1.0 if table.weights is None else float(table.weights.min())
            if wanted > least:
                raise ParameterError(f"'unobserved' must not exceed the least weight, {least:g}, got {wanted:g}.")
        return settled_weight(wanted, table)

    def _sizes(self, table: Observations) -> Sizes:
        likelihood = self._likelihood(table)
        # An event is drawn behind each answer but where chances are cut.
        cut = likelihood == "bernoulli" and isinstance(self.levels, str)
        answers = likelihood != "gaussian" and not cut
        return suited(table, answers=answers, cut=cut, only_yes=self.unobserved != 0.0)

    def _likelihood(self, table: Observations) -> str:
        if self.likelihood == "auto":
            return likelihood_of(table) if self.unobserved == 0.0 else "gaussian"
        if self.likelihood == "bernoulli" and not table.is_binary:
            raise DataError("likelihood 'bernoulli' is for values 0 and 1; these data have others. Use 'gaussian'.")
        if self.likelihood != "gaussian" and table.weights is not None and (table.weights % 1.0).any():
            raise DataError(
                f"With likelihood '{self.likelihood}' weights must be whole numbers: how often an answer was given."
            )
        if self.likelihood == "categorical" and not 2 <= np.unique(table.values).size <= MOST_LEVELS:
            raise DataError(
                f"likelihood 'categorical' is for 2 to {MOST_LEVELS} distinct ratings; these data have "
                f"{np.unique(table.values).size:,}. Use 'gaussian'."
            )
        return str(self.likelihood)

    def _on_sweep(self, draw: SamplingProgress) -> bool:
        if self.verbose:
            error = "" if draw.rmse is None else f"  held-out rmse {draw.rmse:.4f}"
            sys.stderr.write(f"chain {draw.chain + 1}/{draw.n_chains}  sweep {draw.sweep}/{draw.n_sweeps}{error}\n")
        return self.callback is not None and says_stop(self.callback(draw))
