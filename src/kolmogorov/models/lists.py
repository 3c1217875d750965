"""`ListModel`: lists of items for tables in which only yes is recorded, by links between items and by events."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kolmogorov._support.dealing import Threads
from kolmogorov._support.progress import says_stop
from kolmogorov._support.seeds import base_seed
from kolmogorov._support.threads import one_blas_thread, thread_count
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import AUTO, BOOLEAN, CALLBACK, LARGEST_RIDGE, Requirement, integer, one_of, real
from kolmogorov.data import Observations
from kolmogorov.data.changes import Change
from kolmogorov.data.view import View
from kolmogorov.descent import fold_in, moving
from kolmogorov.descent.implicit import DescentSizes, averaged_descents
from kolmogorov.descent.point import Fitted, Sweep
from kolmogorov.descent.trained import by_users, checked
from kolmogorov.models.fitted_links import Links
from kolmogorov.models.fitted_lists import FittedLists, ListSettings
from kolmogorov.models.ids import Unknown, known_part
from kolmogorov.models.interpretation import ListInterpretation
from kolmogorov.models.kolmogorov import KolmogorovModel
from kolmogorov.models.learning import why_ratings
from kolmogorov.models.list_choosing import Asked, chosen_settings
from kolmogorov.models.list_links import ItemTable, links_of
from kolmogorov.models.ranking import Askers
from kolmogorov.models.recommender import Rank, Recommender
from kolmogorov.models.tables import learnable, table_of
from kolmogorov.models.updating import Updating
from kolmogorov.solvers.registry import usual

Auto = Literal["auto"]
#: The smallest weight of a blank: with none there is nothing to learn. By judgement, as the most neighbours.
_LEAST_WEIGHT, _MOST_NEIGHBOURS = 1e-6, 1024
#: Of what completes the table: small beside those of a model that has nothing but events. By judgement.
_SIZES = DescentSizes(n_descents=2, n_events=32)
_RULES: dict[str, Requirement] = {
    "n_events": integer(1) | AUTO,
    "ridge": real(1e-6, LARGEST_RIDGE) | AUTO,
    "growth": real(0.0, 1.0) | AUTO,
    "balance": real(0.0, 1.0) | AUTO,
    "unobserved": real(_LEAST_WEIGHT, 1.0) | AUTO,
    "neighbours": integer(1, _MOST_NEIGHBOURS) | one_of(("auto", "all")),
    "callback": CALLBACK,
    "verbose": BOOLEAN | integer(0),
}


class ListModel(ListInterpretation, Updating, Recommender):
    """Learn lists from a table in which only yes is recorded: clicks, purchases, visits.

    A user's score of an item is a balance of two parts. Links say what follows from what: each item is regressed on all
    others, in closed form, and those that a user has speak for others by their weights. Events say what kind of user
    somebody is: theta_u . psi_i, where everything that was not observed is a no of small weight. The ridge of links,
    the weight of blanks and the balance are chosen inside `fit`, by lists of entries that are held out for it.

    Parameters
    ----------
    n_events : int or "auto"
        Number of elementary events; "auto" takes more for more entries, and at most 16, so that they can be read.
    ridge : float or "auto"
        Of the regression of an item on all others, for an item that as many have as have one on average.
    growth : float or "auto"
        The ridge of an item grows with this power, from 0 to 1, of how many have it.
    balance : float or "auto"
        The share of events in a score, from 0 to 1; the rest is that of links.
    unobserved : float or "auto"
        What an entry that was not observed weighs, as a no, where events are learned.
    neighbours : int, "all" or "auto"
        From how many other items links lead to an item. "auto" takes all of them for up to 20,000 items, which takes
        12 bytes for each pair of items (4.8 GB for 20,000) and is asked for before it is taken; beyond, or where
        memory lacks, the 64 whose columns have the largest cosine with the item's.
    random_state : int, Generator, RandomState or None
        The same seed gives the same bits on any number of threads.
    n_jobs : int or None
        Threads; -1 for all processors, None for one.
    callback : callable, optional
        Called after every sweep of the descents by which events are learned, with a `Sweep`; returning True ends these
        descents.
    verbose : int
        1 writes a line per sweep to standard error.

    Attributes
    ----------
    settings_ : ListSettings
        What was chosen: `ridge`, `growth`, `unobserved`, `balance`.
    theta_ : ndarray of shape (n_users, n_events)
    psi_ : ndarray of shape (n_items, n_events)
        Chances of items in events.
    users_, items_ : Vocabulary
    scale_ : Scale
    n_features_in_ : int
        Number of items.

    Examples
    --------
    >>> import numpy as np, kolmogorov as km
    >>> rng = np.random.default_rng(0)
    >>> games = rng.random((300, 20)) < 0.2
    >>> extensions = games & (rng.random((300, 20)) < 0.6)
    >>> users, items = np.nonzero(np.hstack([games, extensions]))
    >>> bought = km.Observations.from_arrays(users, items, np.ones(users.size))
    >>> model = km.ListModel(random_state=0).fit(bought)
    >>> model.recommend(guest={3: 1}, n=1)["item"].tolist()
    ['23']
    """

    fitted_: FittedLists
    _learned = FittedLists
    _rules = _RULES

    def __init__(
        self,
        n_events: int | Auto = "auto",
        *,
        ridge: float | Auto = "auto",
        growth: float | Auto = "auto",
        balance: float | Auto = "auto",
        unobserved: float | Auto = "auto",
        neighbours: int | Literal["all", "auto"] = "auto",
        random_state: Any = None,
        n_jobs: int | None = -1,
        callback: Callable[[Any], Any] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_events = n_events
        self.ridge = ridge
        self.growth = growth
        self.balance = balance
        self.unobserved = unobserved
        self.neighbours = neighbours
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose

    def fit(self, X: Any, y: None = None) -> Self:
        """Learn from Observations, a sparse matrix or a dense array with NaN for missing.

        What has a value above 0 is what somebody has, as much as the value says. Weights of observations count where
        events are learned, and not for links.
        """
        self._check_parameters()
        table = learnable(self, X, only_yes=True)
        seed = base_seed(self.random_state)
        asked = Asked(*(_given(getattr(self, name)) for name in ("ridge", "growth", "unobserved", "balance")))
        with one_blas_thread(), Threads(self.n_jobs) as dealer:
            settings = chosen_settings(table, asked, partial(self._learned_events, seed=seed), seed, dealer)
            links = self._links(table, settings, dealer)
        events = self._learned_events(table, settings.unobserved, seed)
        fitted = FittedLists(links, events, settings)
        return self._adopt(checked(fitted, "A larger 'ridge' may help."))

    def _learned_events(self, table: Observations, unobserved: float, seed: int) -> Fitted:
        """Learn events as a `KolmogorovModel` of chances does, from fewer descents."""
        model = self._events_model(unobserved, seed)
        drawn = None
        if why_ratings(model, table) is None:
            drawn = averaged_descents(
                table, unobserved, seed, self.n_jobs, self._on_sweep, keep_interrupted=False, sizes=_SIZES
            )[0]
        found = model._fit(table, drawn=drawn, keep_interrupted=False).fitted_
        return found.with_training(by_users(table))

    def _events_model(self, unobserved: float, seed: int | None = None) -> KolmogorovModel:
        return KolmogorovModel(
            self.n_events,
            psi="soft",
            unobserved=unobserved,
            n_init=1,
            random_state=seed,
            n_jobs=self.n_jobs,
            callback=self._on_sweep,
        )

    @property
    def settings_(self) -> ListSettings:
        """What was chosen for the table, or given."""
        return self.fitted_.settings

    @property
    def theta_(self) -> Floats:
        """Event probabilities of each user."""
        return self.fitted_.events.theta

    @property
    def psi_(self) -> Floats:
        """Chances of each item in every event."""
        found: Floats = self.fitted_.events.psi
        return found

    @property
    def _one_model(self) -> Fitted:
        """The events, which are read as those of any model."""
        return self.fitted_.events

    def evaluate(
        self,
        observations: Observations,
        *,
        ranking: bool = True,
        k: int = 10,
        likes: float | None = None,
        unknown: Unknown = "average",
    ) -> dict[str, float]:
        """Compare lists of recommendations with what was held out; with ``ranking=False``, predictions.

        As in other models, but that lists are what is judged unless something else is said: where nobody says no, there
        is nothing to be wrong about.
        """
        return super().evaluate(observations, ranking=ranking, k=k, likes=likes, unknown=unknown)

    # --- inside -----------------------------------------------------------------------------------------

    def _moved(self, fitted: FittedLists, change: Change) -> FittedLists:
        settings, size = fitted.settings, fitted.events.n_events
        solvers = usual("simplex", size), usual("box", size)
        events = moving.moved(fitted.events, change, solvers, settings.unobserved, self.n_jobs)
        with one_blas_thread(), Threads(self.n_jobs) as dealer:
            links = self._links(change.after, settings, dealer)
        return checked(FittedLists(links, events, settings), "A larger 'ridge' may help.")

    def _links(self, table: Observations, settings: ListSettings, dealer: Threads) -> Links:
        items = ItemTable.of(table.rows, table.n_items)
        return links_of(items, items.ridges(settings.ridge, settings.growth), self.neighbours, dealer)

    def _guests(self, observations: Observations, rank: Rank) -> Askers:
        known = known_part(self.fitted_, observations.rescaled(self.fitted_.scale))
        view = fold_in.view_of(self.fitted_.events, known, "users")
        ids = observations.users.ids.tolist()
        theta = self._new_thetas(view)

        def said(part: slice, lower: float | None) -> Floats:
            with one_blas_thread():
                return self.fitted_.of_rows(view, np.arange(len(ids))[part], theta[part])

        return Askers(ids, np.arange(len(ids)), view, said, self._lower(rank))

    def _new_thetas(self, view: View) -> Floats:
        model = self._events_model(self.fitted_.settings.unobserved)
        return model._adopt(self.fitted_.events)._new_thetas(view)

    def _completed(self, X: Any) -> Floats:
        check_is_fitted(self)
        view = fold_in.view_of(self.fitted_.events, table_of(self, X, reset=False), "users")
        rows = np.arange(view.indptr.size - 1)
        with one_blas_thread():
            return np.clip(self.fitted_.of_rows(view, rows, self._new_thetas(view)), 0.0, 1.0)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        thread_count(self.n_jobs)

    def _on_sweep(self, sweep: Sweep) -> bool:
        if self.verbose:
            sys.stderr.write(f"sweep {sweep.sweep:3d}  objective {sweep.objective:.6g}  rmse {sweep.rmse:.4f}\n")
        return self.callback is not None and says_stop(self.callback(sweep))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.positive_only = True
        return tags


def _given(value: float | str) -> float | None:
    return None if value == "auto" else float(value)
