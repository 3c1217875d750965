"""`BayesianKolmogorovModel`: models drawn from the posterior, and their average."""

from __future__ import annotations

import hashlib
import numbers
import os
import sys
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kolmogorov import metrics
from kolmogorov._support.callbacks import says_stop
from kolmogorov._support.files import check_writable
from kolmogorov._support.optional import require
from kolmogorov._support.progress import notice
from kolmogorov._support.seeds import base_seed
from kolmogorov._support.threads import one_blas_thread, thread_count
from kolmogorov._support.typing import Floats
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
from kolmogorov.data.observations import Observations, View
from kolmogorov.data.trainable import check_any, check_trainable
from kolmogorov.errors import ConvergenceWarning, DataError
from kolmogorov.execution import Dask, Threads
from kolmogorov.fitting.trained import checked
from kolmogorov.model.averaging import averaged_model, pruned
from kolmogorov.model.interpretation import DrawnInterpretation
from kolmogorov.model.kolmogorov import KolmogorovModel
from kolmogorov.sampling.checkpoint import ChainCheckpoint, SamplerState
from kolmogorov.sampling.convergence import convergence_of
from kolmogorov.sampling.new_rows import new_psis, new_thetas
from kolmogorov.sampling.plan import Plan
from kolmogorov.sampling.posterior import Posterior, stacked
from kolmogorov.sampling.priors import rating_features
from kolmogorov.sampling.sampler import Sampler, SamplingProgress
from kolmogorov.surface.event_model import EventModel
from kolmogorov.surface.ids import Unknown, pair_rows
from kolmogorov.surface.recommender import Output, Rank
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


class BayesianKolmogorovModel(DrawnInterpretation, EventModel):
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

    fitted_: Posterior
    has_draws = True
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

    # --- using ------------------------------------------------------------------------------------------

    def predict(
        self,
        users: Any,
        items: Any = None,
        *,
        output: Output = "probability",
        return_std: bool = False,
        unknown: Unknown = "average",
    ) -> Any:
        """Return probabilities, or ratings: the mean over draws.

        Parameters
        ----------
        users, items, output, unknown
            As in `KolmogorovModel.predict`.
        return_std : bool
            Also return the standard deviation over draws, in the same units.
        """
        if not return_std:
            return super().predict(users, items, output=output, unknown=unknown)
        check_is_fitted(self)
        check_parameters("predict", {"output": output}, {"output": OneOf(("probability", "rating"))})
        rows, single = pair_rows(self.fitted_, users, items, unknown)
        mean, deviation = self.fitted_.moments(*rows)
        mean = self._in_units(mean, output)
        deviation = deviation * (self.scale_.span if output == "rating" else 1.0)
        return (float(mean[0]), float(deviation[0])) if single else (mean, deviation)

    def predict_interval(
        self,
        users: Any,
        items: Any = None,
        *,
        level: float = 0.9,
        of: Literal["rating", "probability"] = "rating",
        unknown: Unknown = "average",
    ) -> tuple[Any, Any]:
        """Return (low, high), which hold a new rating or the probability with the given probability.

        Parameters
        ----------
        users, items, unknown
            As in `predict`.
        level : float
        of : {"rating", "probability"}
            "rating": of a new rating, noise included, in rating units; with the yes/no likelihood its ends are 0 or 1.
            "probability": of the probability alone. For an unknown user or item both include how much users and items
            differ.
        """
        check_is_fitted(self)
        check_parameters(
            "predict_interval",
            {"level": level, "of": of},
            {"level": Between(0.0, 1.0), "of": OneOf(("rating", "probability"))},
        )
        rows, single = pair_rows(self.fitted_, users, items, unknown)
        if of == "probability":
            low, high = self.fitted_.interval(*rows, float(level), noise=False)
        else:
            low, high = self.interval_of_rows(*rows, float(level))
        return (float(low[0]), float(high[0])) if single else (low, high)

    def interval_of_rows(self, users: NDArray[np.int64], items: NDArray[np.int64], level: float) -> tuple[Any, Any]:
        """Return the interval of new ratings, in rating units, for aligned row numbers."""
        posterior = self.fitted_
        if posterior.likelihood == "bernoulli":
            mean, _ = posterior.moments(users, items)
            tail = 0.5 * (1.0 - level)
            low, high = (mean > 1.0 - tail).astype(np.float64), (mean >= tail).astype(np.float64)
        else:
            low, high = posterior.interval(users, items, level, noise=True)
        return posterior.scale.rating(low), posterior.scale.rating(high)

    def evaluate(self, observations: Observations, *, unknown: Unknown = "average") -> dict[str, float]:
        """Compare predictions with observations, and count how many ratings the 90% interval holds.

        Returns
        -------
        dict
            The scores of `KolmogorovModel.evaluate`, and `coverage_90`.
        """
        scores = super().evaluate(observations, unknown=unknown)
        test = observations.rescaled(self.scale_)
        low, high = self.predict_interval(test, unknown="ignore")
        ratings = test.scale.rating(test.values)
        inside = (ratings >= low - 1e-9) & (ratings <= high + 1e-9)
        return scores | {"coverage_90": float(np.average(inside, weights=test.weights))}

    def as_model(self, n_events: int | None = None) -> KolmogorovModel:
        """Return the average of the draws as one ordinary model.

        Parameters
        ----------
        n_events : int, optional
            Gather similar events until at most so many are left. By default all are kept, and the predictions are the
            same to rounding.
        """
        check_is_fitted(self)
        if n_events is not None:
            check_parameters("as_model", {"n_events": n_events}, {"n_events": Integer(1)})
        posterior = self.fitted_
        theta, psi = stacked(posterior.theta), np.concatenate(list(posterior.psi), axis=1)
        floor = posterior.floor
        if floor:
            # The floor is two more events: one in which everything happens, one in which nothing does.
            edge = np.full((len(theta), 2), floor)
            theta = np.hstack([(1.0 - 2.0 * floor) * theta, edge])
            psi = np.hstack([psi, np.tile([True, False], (len(psi), 1))])
        if n_events is not None:
            theta, psi = pruned(theta, psi, int(n_events), seed=0)
        return averaged_model(theta, psi, posterior.training)

    def diagnostics(self, observations: Observations, max_entries: int = 1000) -> dict[str, dict[str, Floats]]:
        """Return split R-hat and effective sample size of predictions for some entries, of the priors and the noise.

        Parameters
        ----------
        observations : Observations
            Best held-out ones; the first `max_entries` are looked at.
        """
        check_is_fitted(self)
        check_parameters("diagnostics", {"max_entries": max_entries}, {"max_entries": Integer(1)})
        chains = self._by_chain(observations, max_entries)
        if next(iter(chains.values())).shape[1] < 4:
            raise DataError("Diagnostics need at least 4 draws of each chain; raise n_samples.")
        return {
            name: {"rhat": metrics.split_rhat(draws), "ess": metrics.effective_size(draws)}
            for name, draws in chains.items()
        }

    def to_arviz(self, observations: Observations, max_entries: int = 1000) -> Any:
        """Return predictions and noise as an arviz.InferenceData (extra `arviz`)."""
        check_is_fitted(self)
        arviz = require("arviz", extra="arviz", purpose="InferenceData")
        return arviz.from_dict(posterior=self._by_chain(observations, max_entries))

    # --- learned attributes -----------------------------------------------------------------------------

    @property
    def posterior_(self) -> Posterior:
        """The draws."""
        return self.fitted_

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

    def _new_thetas(self, view: View) -> Floats:
        return new_thetas(self.fitted_, view, self.n_jobs)

    def _new_psis(self, view: View) -> NDArray[Any]:
        return new_psis(self.fitted_, view)

    @property
    def _n_columns(self) -> int:
        return self.fitted_.n_draws * self.fitted_.n_events

    def _ranks_lower(self, rank: Rank) -> bool:
        return rank != "probability"

    def _by_chain(self, observations: Observations, max_entries: int) -> dict[str, Floats]:
        posterior = self.fitted_
        check_any(observations, "to look at")
        (users, items), _ = pair_rows(posterior, observations, None, "ignore")
        draws = posterior.draws(users[:max_entries], items[:max_entries]).T
        chains = {"prediction": draws.reshape(posterior.n_chains, -1, draws.shape[1])}
        chains |= {name: values.reshape(posterior.n_chains, -1, 1) for name, values in posterior.priors.items()}
        if posterior.likelihood == "gaussian":
            noise = posterior.noise[:, posterior.user_seen]
            chains["user_noise"] = np.sqrt(noise).reshape(posterior.n_chains, -1, noise.shape[1])
        return chains

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
