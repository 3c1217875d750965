"""`BayesianKolmogorovModel`: models drawn from the posterior, and their average."""

from __future__ import annotations

import hashlib
import numbers
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from kolmogorov import metrics
from kolmogorov._support.callbacks import says_stop
from kolmogorov._support.files import check_writable
from kolmogorov._support.optional import require
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
from kolmogorov.data import Observations, Vocabulary
from kolmogorov.data.trainable import check_any, check_trainable
from kolmogorov.errors import ConvergenceWarning, DataError
from kolmogorov.execution import Dask, Threads
from kolmogorov.fitting.fitted import by_users, checked
from kolmogorov.model.averaging import averaged_model, pruned, stacked
from kolmogorov.model.interpretation import PosteriorReadingMixin
from kolmogorov.model.kolmogorov import KolmogorovModel
from kolmogorov.sampling.checkpoint import ChainCheckpoint, Kept
from kolmogorov.sampling.convergence import convergence_of
from kolmogorov.sampling.plan import Plan
from kolmogorov.sampling.posterior import Posterior
from kolmogorov.sampling.priors import rating_features
from kolmogorov.sampling.sampler import Draw, Sampling
from kolmogorov.surface.prediction import Unknown, pair_rows
from kolmogorov.surface.tables import check_evaluable

Floats = NDArray[np.float64]
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


class BayesianKolmogorovModel(PosteriorReadingMixin, BaseEstimator):  # type: ignore[misc]
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
        Called with a `Draw` after every sweep, on a cluster after every chain; returning True ends sampling, at the
        first draw kept if there is none yet. A chain that is ended early is left out unless it is the first.
    checkpoint : path, optional
        File from which a killed fit goes on.
    verbose : int

    Attributes
    ----------
    posterior_ : Posterior
        The draws.

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
        callback: Callable[[Draw], Any] | None = None,
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

    # --- learning ---------------------------------------------------------------------------------------

    def fit(self, X: Observations, y: None = None, *, test: Observations | None = None) -> Self:
        """Sample.

        Parameters
        ----------
        X : Observations
        y : None
            Ignored.
        test : Observations, optional
            Held-out data, on which the running error is shown.
        """
        self.check_parameters()
        if not isinstance(X, Observations):
            raise DataError(
                f"fit takes Observations, got {type(X).__name__}. Make them with Observations.from_frame, from_arrays, "
                "from_scipy or from_dense."
            )
        if test is not None and not isinstance(test, Observations):
            raise DataError(f"'test' must be Observations, got {type(test).__name__}.")
        X.check_intact()
        check_trainable(X)
        if test is not None:
            check_any(test, "to test on")
        likelihood = self._likelihood(X)
        seed = base_seed(self.random_state)
        with one_blas_thread():
            features = rating_features(X, int(self.n_features))
        keeper = None
        kept = Kept(seed)
        if self.checkpoint is not None:
            fixed = isinstance(self.random_state, numbers.Integral)
            keeper = ChainCheckpoint(self.checkpoint, self._identity(X, likelihood), seed if fixed else None)
            check_writable(self.checkpoint)
            kept = keeper.read(features, X, self._plan(likelihood)) or kept
        held_out = None if test is None else test.rescaled(X.scale)
        sampling = Sampling(self._plan(likelihood), X, features, kept, keeper, held_out, self._on_sweep)
        with one_blas_thread(), self.execution or Threads(self.n_jobs) as dealer:
            if isinstance(dealer, Dask):
                sampling.run_on(dealer)
            else:
                sampling.run(dealer)
        # A chain that was ended early is left out, unless it is the only one.
        chains = max(kept.chain, 1)
        samples = kept.samples[: kept.chain * int(self.n_samples)] if kept.chain else kept.samples
        posterior = Posterior(
            theta=np.array([sample.theta for sample in samples]),
            psi=np.array([sample.psi for sample in samples]),
            noise=np.array([sample.noise for sample in samples]),
            n_chains=chains,
            likelihood=likelihood,
            training=by_users(X),
            priors={name: np.array([sample.priors[name] for sample in samples]) for name in samples[0].priors},
        )
        self.adopt(checked(posterior))
        found = convergence_of(self.posterior_)
        if found.settled:
            notice(str(found))
        else:
            warnings.warn(f"{found}.", ConvergenceWarning, stacklevel=2)
        return self

    def adopt(self, posterior: Posterior) -> Self:
        """Take over draws made elsewhere, for instance read from a file."""
        self.posterior_ = posterior
        return self

    # --- using ------------------------------------------------------------------------------------------

    def predict(self, users: Any, items: Any = None, *, return_std: bool = False, unknown: Unknown = "average") -> Any:
        """Return probabilities: the mean over draws.

        Parameters
        ----------
        users, items : id or array-like of ids
            Raw ids, aligned; a single id is combined with every one of the other side. With `Observations` as the only
            argument, one prediction for each entry.
        return_std : bool
            Also return the standard deviation over draws.
        unknown : {"average", "ignore", "error"}
            What to do with ids that had no observations at `fit`; see `KolmogorovModel.predict`.
        """
        rows, single = self._rows(users, items, unknown)
        mean, deviation = self.posterior_.moments(*rows)
        if single:
            return (float(mean[0]), float(deviation[0])) if return_std else float(mean[0])
        return (mean, deviation) if return_std else mean

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
        check_parameters(
            "predict_interval",
            {"level": level, "of": of},
            {"level": Between(0.0, 1.0), "of": OneOf(("rating", "probability"))},
        )
        rows, single = self._rows(users, items, unknown)
        if of == "probability":
            low, high = self.posterior_.interval(*rows, float(level), noise=False)
        else:
            low, high = self.interval_of_rows(*rows, float(level))
        return (float(low[0]), float(high[0])) if single else (low, high)

    def interval_of_rows(self, users: NDArray[np.int64], items: NDArray[np.int64], level: float) -> tuple[Any, Any]:
        """Return the interval of new ratings, in rating units, for aligned row numbers."""
        posterior = self.posterior_
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
        check_is_fitted(self)
        test = check_evaluable(observations).rescaled(self.posterior_.scale)
        scores = metrics.evaluate(
            test.values, self.predict(test, unknown=unknown), test.weights, test.scale.span, test.is_binary
        )
        # `predict` has warned of unknown ids.
        low, high = self.predict_interval(test, unknown="ignore" if unknown == "average" else unknown)
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
        posterior = self.posterior_
        theta, psi = stacked(posterior.theta, posterior.psi)
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

    def recommend(self, user: Any, n: int = 10, **options: Any) -> Any:
        """Return the user's most probable items as a data frame; see `KolmogorovModel.recommend`."""
        return self.as_model().recommend(user, n, **options)

    def explain(self, user: Any, item: Any, **options: Any) -> Any:
        """Say which events of the average model carry a probability; see `KolmogorovModel.explain`."""
        return self.as_model().explain(user, item, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the draws to one file, ids included, to be read by `kolmogorov.load`."""
        from kolmogorov.surface.saving import save

        check_is_fitted(self)
        save(self, path)

    # --- learned attributes -----------------------------------------------------------------------------

    @property
    def fitted_(self) -> Posterior:
        """The draws, by the name under which other models keep what they learned."""
        return self.posterior_

    @property
    def users_(self) -> Vocabulary:
        """Ids of the users."""
        return self.posterior_.users

    @property
    def items_(self) -> Vocabulary:
        """Ids of the items."""
        return self.posterior_.items

    # --- inside -----------------------------------------------------------------------------------------

    def check_parameters(self) -> None:
        """Raise for the first parameter that is not in order."""
        check_parameters(type(self).__name__, self.get_params(deep=False), _RULES)
        thread_count(self.n_jobs)

    def _plan(self, likelihood: str) -> Plan:
        return Plan(
            likelihood=likelihood,
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

    def _rows(
        self, users: Any, items: Any, unknown: Unknown
    ) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], bool]:
        """Return row numbers of the pairs asked for, and whether it is a single one."""
        check_is_fitted(self)
        return pair_rows(self.posterior_, users, items, unknown)

    def _by_chain(self, observations: Observations, max_entries: int) -> dict[str, Floats]:
        posterior = self.posterior_
        check_any(observations, "to look at")
        (users, items), _ = self._rows(observations, None, "average")
        draws = posterior.draws(users[:max_entries], items[:max_entries]).T
        chains = {"prediction": draws.reshape(posterior.n_chains, -1, draws.shape[1])}
        chains |= {name: values.reshape(posterior.n_chains, -1, 1) for name, values in posterior.priors.items()}
        if posterior.likelihood == "gaussian":
            noise = posterior.noise[:, posterior.user_seen]
            chains["user_noise"] = np.sqrt(noise).reshape(posterior.n_chains, -1, noise.shape[1])
        return chains

    def _identity(self, table: Observations, likelihood: str) -> str:
        names = ("n_events", "n_chains", "burn_in", "n_samples", "thin", "item_classes", "n_features", "concentration")
        text = repr(([getattr(self, name) for name in names], likelihood, table.fingerprint()))
        return hashlib.sha256(text.encode()).hexdigest()

    def _on_sweep(self, draw: Draw) -> bool:
        if self.verbose:
            error = "" if draw.rmse is None else f"  held-out rmse {draw.rmse:.4f}"
            sys.stderr.write(f"chain {draw.chain + 1}/{draw.n_chains}  sweep {draw.sweep}/{draw.n_sweeps}{error}\n")
        return self.callback is not None and says_stop(self.callback(draw))


def _whole(table: Observations) -> bool:
    return table.weights is None or bool((table.weights == np.floor(table.weights)).all())
