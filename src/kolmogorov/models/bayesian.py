"""`BayesianKolmogorovModel`: models drawn from the posterior, and their average."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, Self

from sklearn.utils.validation import check_is_fitted

from kolmogorov._support.display import notice
from kolmogorov._support.seeds import base_seed
from kolmogorov._support.threads import Threads
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import (
    AUTO,
    MOST_ROUNDS,
    MOST_RUNS,
    Requirement,
    between,
    check_parameters,
    integer,
    one_of,
)
from kolmogorov.cluster import Dask
from kolmogorov.data.attributes import Newcomers, TableAttributes
from kolmogorov.data.changes import Change
from kolmogorov.data.observations import Observations
from kolmogorov.data.view import View
from kolmogorov.descent.problem import usual_weight
from kolmogorov.draws.convergence import convergence_of
from kolmogorov.draws.new_rows import introduced, new_thetas
from kolmogorov.draws.plan import Plan, level_grid, likelihood_of, settled_weight, suited
from kolmogorov.draws.posterior import Posterior
from kolmogorov.draws.sampler import SamplingProgress, drawn, drawn_again
from kolmogorov.errors import DataError, ParameterError
from kolmogorov.gpu.cuda import Cuda
from kolmogorov.models.base import Output, check_asked, seed_for
from kolmogorov.models.diagnostics import agreement, by_chain, for_arviz
from kolmogorov.models.event_model import COMMON_RULES, EventModel
from kolmogorov.models.ids import Unknown, pair_rows
from kolmogorov.models.kolmogorov import KolmogorovModel
from kolmogorov.models.learning import Auto, Psi, is_auto
from kolmogorov.models.tables import learnable

#: Chains are enough when more would take less than this share of the squared error away, of ratings and of answers,
#: whose log loss feels it twice as much. `benchmarks/accuracy.py kinds` shows errors and seconds.
_ENOUGH = (0.003, 0.0015)
Likelihood = Literal["auto", "gaussian", "bernoulli"]
_RULES: dict[str, Requirement] = COMMON_RULES | {
    "likelihood": one_of(("auto", "gaussian", "bernoulli")),
    "n_chains": integer(1, MOST_RUNS) | AUTO,
    "burn_in": integer(1, MOST_ROUNDS) | AUTO,
    "n_samples": integer(1, MOST_ROUNDS) | AUTO,
    "n_features": integer(0) | AUTO,
}


class BayesianKolmogorovModel(EventModel):
    """Draw Kolmogorov models from their posterior and predict with their average.

    The average of Kolmogorov models is one itself (`as_model`), predicts better than any single one, and the draws'
    spread says how sure it is.

    Parameters
    ----------
    n_events : int or "auto"
        Of each draw. "auto" follows the number of ratings: 11 for 10,000, 24 for 100,000, 48 for a million and more. A
        full table has twice as many, up to 32.
    likelihood : {"auto", "gaussian", "bernoulli"}
        Answers with normal noise, of a variance that depends on the user, or yes and no: a yes is a hidden rating that
        lies, with noise, above one half. "auto" takes "bernoulli" for 0/1 data and "gaussian" for others.
    n_chains : int or "auto"
        Independent chains, started apart; on several threads they run side by side. "auto" takes at most 8, and at most
        4 from 300,000 ratings on; it stops at 2 or 4 where the average has settled.
    burn_in : int or "auto"
        Sweeps at the start of each chain that are not kept; the priors of users and of values are learned during them.
        "auto" takes 100.
    n_samples : int or "auto"
        Draws kept of each chain; "auto" takes 20.
    n_features : int or "auto"
        How many features of who was observed with what may shift the priors of users and of items. "auto" takes 30
        for 80,000 ratings, and at most 60.
    unobserved : float or "auto"
        Where only yes is recorded: what every entry that was not observed weighs, as a no. "auto" takes a weight by the
        density of the table. It goes with normal noise, and lies below all weights.
    random_state : int, Generator or None
        The same integer gives the same bits on any number of threads.
    n_jobs : int or None
        Threads; -1 for all processors, None for one.
    execution : kolmogorov.Dask or kolmogorov.Cuda, optional
        A cluster on which the chains run, each as a task on one thread: the draws are the same. Or a GPU on which they
        all run at once: the draws are others, the same from run to run.
    callback : callable, optional
        Called with a `SamplingProgress` after every sweep of every chain, on a cluster after every chain; returning
        True ends sampling, at the first draw kept if there is none yet. Chains that are ended early are left out unless
        none is through.
    verbose : int

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
        likelihood: Likelihood = "auto",
        n_chains: int | Auto = "auto",
        burn_in: int | Auto = "auto",
        n_samples: int | Auto = "auto",
        n_features: int | Auto = "auto",
        unobserved: float | Auto = 0.0,
        random_state: Any = None,
        n_jobs: int | None = -1,
        execution: Cuda | Dask | None = None,
        callback: Callable[[SamplingProgress], Any] | None = None,
        verbose: int = 0,
    ) -> None:
        self._set(locals())

    fitted_: Posterior
    _learned = Posterior
    _has_draws = True
    _rules = _RULES

    def fit(self, X: Any, y: None = None, *, users: Any = None, items: Any = None) -> Self:
        """Draw models given a table.

        Parameters
        ----------
        X : Observations, sparse matrix or array, or dense array
            As for `KolmogorovModel.fit`.
        y : None
            Ignored.
        users, items : data frame or path, optional
            Attributes, one row for each id: numbers, booleans, categories, lists of categories (also "a|b|c"). Ids are
            in the column with a usual name for them, in an index with a name or with texts, or in the first column.
            Cells may be missing, and so may ids. How much each attribute is believed is learned. A column that cannot
            be used is named in a warning. Who and what has no ratings is placed by attributes.
        """
        self._check_parameters()
        table = learnable(self, X, only_yes=self.unobserved != 0.0)
        known = TableAttributes.read(users, items, (table.users, table.items))
        found, _ = drawn(
            self._plan(table),
            table,
            base_seed(self.random_state),
            self.execution or Threads(self.n_jobs),
            self._on_draw,
            known=known,
        )
        new = known.newcomers
        self._adopt(self._introduced(found, *new) if any(side is not None for side in new) else found)
        notice(f"{found.n_events} events, {convergence_of(found)}")
        return self

    @property
    def posterior_(self) -> Posterior:
        """The draws; `fitted_` is another name for them."""
        return self.fitted_

    def as_model(self, n_events: int | Auto = "auto", psi: Psi = "binary") -> KolmogorovModel:
        """Return one model that stands for the draws: what a `KolmogorovModel` learns from the table they complete.

        It is read, predicts, places new users and is saved as any other; `history_` says its distance from the average.
        `n_events` "auto" takes as many as were asked of the draws; where these were left to the table, as many as are
        found again in both halves of the chains. Predictions are near those of the draws: with 16 events and soft psi
        within about 1%, binary about 2%.
        """
        check_is_fitted(self)
        model = self._like_draws(self.n_events if is_auto(n_events) else n_events, psi)
        model._check_parameters()
        fitted, model.interrupted_ = model._distilled(self.fitted_)
        return model._said(fitted)

    def _like_draws(self, n_events: int | Auto, psi: Psi) -> KolmogorovModel:
        blanks = self.fitted_.unobserved
        return KolmogorovModel(n_events, psi=psi, unobserved=blanks, random_state=0, n_jobs=self.n_jobs)

    @property
    def _reader(self) -> KolmogorovModel:
        """As near to the draws' average as so many events with soft psi come; made when it is first asked for."""
        kept = self.fitted_.kept
        if "reader" not in kept:
            model = self._like_draws(self.n_events, "soft")
            kept["reader"] = model._adopt(model._distilled(self.fitted_, keep_interrupted=False)[0])
        found: KolmogorovModel = kept["reader"]
        return found

    def predict(
        self,
        users: Any,
        items: Any = None,
        *,
        output: Output = "rating",
        return_std: bool = False,
        unknown: Unknown = "average",
    ) -> Any:
        """Return ratings, or probabilities, as `KolmogorovModel.predict` does: the mean over draws.

        With `return_std` also return the standard deviation over draws, in the same units.
        """
        if not return_std:
            return super().predict(users, items, output=output, unknown=unknown)
        check_is_fitted(self)
        check_asked("predict", output=output)
        rows, single = pair_rows(self.fitted_, users, items, unknown)
        mean, deviation = self.fitted_.moments(*rows)
        mean, deviation = self._in_units(mean, output), deviation * (self.scale_.span if output == "rating" else 1.0)
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

        Pairs are given as to `predict`. Of a "rating", noise is included, in the units of the data; with the yes/no
        likelihood its ends are 0 or 1. Or it is the interval of the "probability" alone. For an unknown user or item
        both include how much users and items differ.
        """
        rules = {"level": between(0.0, 1.0), "of": one_of(("rating", "probability"))}
        check_parameters("predict_interval", {"level": level, "of": of}, rules)
        check_is_fitted(self)
        rows, single = pair_rows(self.fitted_, users, items, unknown)
        interval = self.fitted_.probability_interval if of == "probability" else self.fitted_.rating_interval
        low, high = interval(*rows, float(level))
        return (float(low[0]), float(high[0])) if single else (low, high)

    def diagnostics(self, observations: Observations, max_entries: int = 1000) -> dict[str, dict[str, Floats]]:
        """Return split R-hat and effective sample size of predictions for some entries, of the priors and the noise.

        Entries are the first `max_entries` of observations, best of held-out ones. Priors that are fixed after burn-in
        do not vary within a chain, and have neither; they are left out.
        """
        check_is_fitted(self)
        check_parameters("diagnostics", {"max_entries": max_entries}, {"max_entries": integer(1)})
        return agreement(by_chain(self.fitted_, observations, max_entries))

    def to_arviz(self, observations: Observations, max_entries: int = 1000) -> Any:
        """Return draws, answers and their log likelihood for ArviZ (extra `arviz`): a DataTree.

        Its groups are `posterior`, `posterior_predictive`, `log_likelihood`, `observed_data` and `constant_data`, which
        says how many answers of each user and item were learned from. Entries, as for `diagnostics`, have the
        coordinates `of_user` and `of_item`.
        """
        check_is_fitted(self)
        return for_arviz(self.fitted_, observations, max_entries)

    def _moved(self, fitted: Posterior, change: Change) -> Posterior:
        table, other = change.after, "the new ratings. Fit a model to all ratings instead."
        plan = self._plan(table)
        if plan.likelihood != fitted.likelihood:
            raise DataError(f"The draws are of likelihood '{fitted.likelihood}', which does not go with {other}")
        if fitted.unobserved and table.weights is not None and fitted.unobserved >= table.weights.min():
            raise DataError(f"What was not observed weighs {fitted.unobserved:g}, which is more than some of {other}")
        plan = replace(plan, n_events=fitted.n_events, levels=fitted.levels, unobserved=fitted.unobserved)
        notice(f"Fitting the {fitted.n_chains} chains again, each from its last draw.")
        return drawn_again(fitted, change, plan, seed_for(self, table), self.n_jobs)

    def _new_thetas(self, view: View) -> Floats:
        return new_thetas(self.fitted_, view, self.n_jobs)

    def _introduced(self, fitted: Posterior, users: Newcomers | None, items: Newcomers | None) -> Posterior:
        return introduced(fitted, users, items)

    def _plan(self, table: Observations) -> Plan:
        """Return what `fit` samples of a table."""
        likelihood, only_yes = self._likelihood(table), self.unobserved != 0.0
        given = {name: getattr(self, name) for name in ("n_events", "n_chains", "burn_in", "n_samples", "n_features")}
        given = {name: int(n) for name, n in given.items() if n != "auto"}
        sizes = replace(suited(table, only_yes=only_yes), **given)
        settling = self.n_chains == "auto" and not only_yes
        return Plan(
            **vars(sizes),
            likelihood=likelihood,
            levels=level_grid(table, likelihood, sizes.n_events),
            unobserved=self._weight(table, likelihood),
            enough=_ENOUGH[likelihood != "gaussian"] if settling else 0.0,
        )

    def _weight(self, table: Observations, likelihood: str) -> float:
        """Return what an entry that was not observed weighs."""
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

    def _likelihood(self, table: Observations) -> str:
        if self.likelihood == "auto":
            return likelihood_of(table) if self.unobserved == 0.0 else "gaussian"
        if self.likelihood == "bernoulli" and not table.is_binary:
            raise DataError("likelihood 'bernoulli' is for values 0 and 1; these data have others. Use 'gaussian'.")
        return str(self.likelihood)
