"""`ListModel`: lists of items for tables in which only yes is recorded, by links between items and by events.

The ridge of links, the weight of blanks and the balance of the two are chosen by lists of entries that are held out.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from itertools import product
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kolmogorov._support.seeds import base_seed, generator
from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov._support.typing import Floats, Rows
from kolmogorov._support.validation import (
    AUTO,
    BOOLEAN,
    CALLBACK,
    LARGEST_RIDGE,
    Requirement,
    check_parameters,
    integer,
    real,
)
from kolmogorov.data import Observations
from kolmogorov.data.changes import Change
from kolmogorov.data.view import View
from kolmogorov.descent import placing
from kolmogorov.descent.files import Arrays, Parts, Schema
from kolmogorov.descent.fitted import Fitted, Trained
from kolmogorov.descent.implicit import averaged_descents
from kolmogorov.descent.problem import usual_weight
from kolmogorov.errors import DataError, InvariantError
from kolmogorov.models.base import Recommender
from kolmogorov.models.ids import Unknown
from kolmogorov.models.kolmogorov import KolmogorovModel
from kolmogorov.models.learning import is_auto, usual_events, why_ratings
from kolmogorov.models.links import Links, closed_form, gram_of, links_of, matrix_of, ridges_of
from kolmogorov.models.metrics import list_scores
from kolmogorov.models.ranking import Said, best_lists
from kolmogorov.models.tables import learnable, table_of

Auto = Literal["auto"]
#: The smallest weight of a blank: with none there is nothing to learn. By judgement.
_LEAST_WEIGHT = 1e-6
#: Of what completes the table: small beside those of a model that has nothing but events. By judgement.
_SIZES = {"n_descents": 2, "n_events": 32}
_SETTINGS: dict[str, Requirement] = {
    "ridge": real(1e-6, LARGEST_RIDGE),
    "growth": real(0.0, 1.0),
    "unobserved": real(_LEAST_WEIGHT, 1.0),
    "balance": real(0.0, 1.0),
}
_RULES: dict[str, Requirement] = {
    "n_events": integer(1) | AUTO,
    **{name: requirement | AUTO for name, requirement in _SETTINGS.items()},
    "callback": CALLBACK,
    "verbose": BOOLEAN | integer(0),
}


# --- what a fit leaves behind --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ListSettings:
    """What lists of held-out entries settle.

    Attributes
    ----------
    ridge : float
        Of the regression of an item on all others.
    growth : float
        The ridge of an item grows with this power of how often it was observed.
    unobserved : float
        What an entry that was not observed weighs where events are learned.
    balance : float
        The share of events in a score; the rest is that of links.
    """

    ridge: float
    growth: float
    unobserved: float
    balance: float


@dataclass(frozen=True, eq=False)
class FittedLists(Trained):
    """A score is (1 - balance) times the sum of links from a user's items, plus balance times theta . psi."""

    has_scores: ClassVar[bool] = True
    SCHEMA: ClassVar[Schema] = Fitted.SCHEMA | {
        "link_matrix?": "f4 items items",
        "link_indptr?": "i8 *",
        "link_items?": "i4 links",
        "link_weights?": "f4 links",
    }
    links: Links
    events: Fitted
    settings: ListSettings

    @property
    def training(self) -> Observations:  # type: ignore[override]
        """What the model was fitted to."""
        return self.events.training

    def with_training(self, training: Observations) -> Self:
        """Return the same over observations whose items or users are called otherwise."""
        return replace(self, events=replace(self.events, training=training))

    def known_rows(self, users: Rows, items: Rows) -> tuple[Rows, Rows]:
        """Return the rows as they are: users and items without observations have thetas and psis too."""
        return users, items

    def at_rows(self, users: Rows, items: Rows) -> Floats:
        """Return scores for aligned rows, cut to the scale."""
        theta, psi = self.events.theta_or_population[users], self.events.psi_or_average[items]
        balance = self.settings.balance
        linked = self.links.pairs(self.training.rows, users, items)
        return np.clip((1.0 - balance) * linked + balance * np.einsum("nd,nd->n", theta, psi), 0.0, 1.0)

    def of_users(self, users: Rows, lower: float | None = None) -> Floats:
        """Return the scores of all items for some users; they may lie beyond the scale, so that lists keep an order."""
        return self.of_rows(self.training.rows, users, self.events.theta_or_population[users])

    def of_rows(self, view: View, rows: Rows, theta: Floats) -> Floats:
        """Return the same for some rows of observations of anybody, whose thetas are given, one for each row."""
        out = self.links.scores(view, rows)
        out *= 1.0 - self.settings.balance
        if self.settings.balance > 0.0:
            out += self.settings.balance * (theta @ self.events.psi_or_average[:-1].T)
        return out

    def similar_to(self, item: int) -> Floats:
        """Return the mean of the weights to and from every other item, the geometric one, where both speak for it.

        That is the correlation of the two given all other items.
        """
        there, back = self.links.out_of(item), self.links.into(item)
        found: Floats = np.sqrt(np.maximum(there, 0.0) * np.maximum(back, 0.0))
        found[item] = 1.0
        return found

    def stored(self) -> Parts:
        """Return what a file holds of this: numbers and arrays by name."""
        meta, arrays = self.events.stored()
        return meta | {"settings": asdict(self.settings)}, arrays | self.links.arrays()

    @classmethod
    def restored(cls, meta: dict[str, Any], arrays: Arrays) -> Self:
        """Undo `stored`; what does not belong together is for `validate` to find."""
        events = Fitted.restored(meta, arrays)
        return cls(Links.restored(arrays, len(events.psi)), events, ListSettings(**meta["settings"]))

    def validate(self) -> None:
        """Check the events, the links, and the settings."""
        self.events.validate()
        if self.events.psi.dtype == bool:
            raise InvariantError("the events of lists must hold chances")
        self.links.validate()
        check_parameters("the settings", asdict(self.settings), _SETTINGS)


# --- the model ----------------------------------------------------------------------------------------------------


class ListModel(Recommender):
    """Learn lists from a table in which only yes is recorded: clicks, purchases, visits.

    A user's score of an item is a balance of two parts. Links say what follows from what: each item is regressed on all
    others, in closed form, and those that a user has speak for others by their weights. (Of more than 20,000 items, or
    where memory lacks, on the 64 whose columns have the largest cosine with the item's.) Events say what kind of user
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
        given = {name: float(getattr(self, name)) for name in _SETTINGS if not is_auto(getattr(self, name))}
        with one_blas_thread():
            settings = chosen_settings(table, given, partial(self._learned_events, seed=seed), seed)
        links = self._links(table, settings)
        events = self._learned_events(table, settings.unobserved, seed)
        fitted = FittedLists(links, events, settings)
        return self._adopt(fitted.checked("A larger 'ridge' may help."))

    def _learned_events(self, table: Observations, unobserved: float, seed: int) -> Fitted:
        """Learn events as a `KolmogorovModel` of chances does, from fewer descents."""
        model = self._events_model(unobserved, seed)
        if is_auto(model.n_events):
            # They are for lists first, and only then to be read.
            model.n_events = usual_events(len(table), table.n_users, table.n_items)
        if why_ratings(model, table) is None:
            options: dict[str, Any] = {"keep_interrupted": False, **_SIZES}
            draws, _ = averaged_descents(table, unobserved, seed, self.n_jobs, self._on_sweep, **options)
            found, _ = model._distilled(draws, keep_interrupted=False, compared=False)
        else:
            found = model.fit(table).fitted_
            if model.interrupted_:
                raise KeyboardInterrupt
        return found.with_training(table.over())

    def _events_model(self, unobserved: float, seed: int | None = None) -> KolmogorovModel:
        return KolmogorovModel(
            self.n_events,
            psi="soft",
            unobserved=unobserved,
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

    def evaluate(self, observations: Observations, *, ranking: bool = True, **options: Any) -> dict[str, float]:
        """Compare lists with what was held out, or, with ``ranking=False``, predictions; options as in other models."""
        return super().evaluate(observations, ranking=ranking, **options)

    def explain(self, user: Any = None, item: Any = None, *, guest: Any = None, unknown: Unknown = "average") -> Any:
        """Explain the score of an item: because of which of the user's items, and because of which events.

        Of a user, or of a guest's ratings as in `recommend`; the item may be given by its title, and `unknown` is that
        of `predict`. What is returned has what everybody would get, an amount for each item that the user has, and one
        for each event; together they are the score.

        Examples
        --------
        >>> import numpy as np, kolmogorov as km
        >>> games = np.random.default_rng(0).random((300, 10)) < 0.3
        >>> users, items = np.nonzero(np.hstack([games, games]))
        >>> model = km.ListModel(random_state=0).fit(km.Observations.from_arrays(users, items, np.ones(users.size)))
        >>> why = model.explain(item=13, guest={3: 1})
        >>> why.items[0].item, bool(abs(sum(amount for _, amount in why.steps) - why.score) < 1e-9)
        ('3', True)
        """
        from kolmogorov.interpret.explanation import explain_list

        check_is_fitted(self)
        return explain_list(self.fitted_, self._new_thetas, user, item, guest, unknown)

    # --- inside -----------------------------------------------------------------------------------------

    def _moved(self, fitted: FittedLists, change: Change) -> FittedLists:
        settings = fitted.settings
        problem = self._events_model(settings.unobserved)._problem(fitted.events.n_events)
        events = placing.moved(fitted.events, change, problem, settings.unobserved, self.n_jobs)
        links = self._links(change.after, settings)
        return FittedLists(links, events, settings).checked("A larger 'ridge' may help.")

    def _links(self, table: Observations, settings: ListSettings) -> Links:
        had = matrix_of(table.rows, table.n_items)
        with one_blas_thread(), Threads(self.n_jobs) as dealer:
            return links_of(had, ridges_of(had, settings.ridge, settings.growth), dealer)

    def _said_of(self, view: View, theta: Floats) -> Said:
        return lambda part, lower: self.fitted_.of_rows(view, np.arange(len(theta))[part], theta[part])

    def _new_thetas(self, view: View) -> Floats:
        model = self._events_model(self.fitted_.settings.unobserved)
        return model._adopt(self.fitted_.events)._new_thetas(view)

    def _completed(self, X: Any) -> Floats:
        check_is_fitted(self)
        view = placing.view_of(self.fitted_.events, table_of(self, X, reset=False), "users")
        return np.clip(self._said_of(view, self._new_thetas(view))(slice(None), None), 0.0, 1.0)


# --- settings by lists of held-out entries ------------------------------------------------------------------------

#: Length of the lists, users who are judged at most, items that lists are made of at most, and the share of a user's
#: entries that is held out; by judgement.
_LENGTH, _USERS, _ITEMS, _SHARE = 10, 3_000, 2_000, 0.2
#: Place of a random stream.
_STREAM = 11
#: Where nothing can be held out, and where the climb begins. These and the grids below were chosen on made-up tables
#: that no benchmark reports, the growths after a look at the games of `benchmarks/lists.py`.
_USUAL = {"ridge": 100.0, "growth": 0.25, "balance": 0.2}
#: A step of the climb over ridges, how far it goes, and the finer step at its end.
_STEP, _LEAST, _LARGEST, _FINE = 3.0, 0.3, 1e5, 3.0**0.5
#: The first is the one of the climb; around its end all are tried.
_GROWTHS = (0.25, 0.0, 0.5)
#: Times the usual weight of blanks, and shares of events in a score.
_BLANKS = (1.0, 4.0)
_BALANCES = (0.0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0)


def chosen_settings(
    table: Observations, given: dict[str, float], learn: Callable[[Observations, float], Fitted], seed: int
) -> ListSettings:
    """Choose what was not given, by the nDCG of lists of held-out entries, made of the items that most people have.

    First links alone settle ridge and growth, then events, which `learn` finds in a table with a weight of blanks, are
    put beside them. Ties go to what is tried first: links alone.
    """
    usual = usual_weight(len(table), table.n_users * table.n_items)
    weights = [min(1.0, max(times * usual, _LEAST_WEIGHT)) for times in _BLANKS]
    if "unobserved" in given:
        weights = [given["unobserved"]]
    found = ListSettings(**{"unobserved": weights[0]} | _USUAL | given)
    if len(given) == len(_SETTINGS):
        return found
    try:
        train, test = table.split(_SHARE, random_state=seed, by="user")
    except DataError:
        return found
    counts = np.bincount(train.rows.indices, weights=train.values, minlength=train.n_items)
    items = np.sort(np.argsort(-counts, kind="stable")[:_ITEMS])
    kept, wanted = (matrix_of(part.rows, part.n_items)[:, items] for part in (train, test))
    kept.eliminate_zeros(), wanted.eliminate_zeros()
    askers = np.flatnonzero((np.diff(wanted.indptr) > 0) & (np.diff(kept.indptr) > 0))
    if not askers.size:
        return found
    users = np.sort(generator(seed, _STREAM).permutation(askers)[:_USERS])
    seen = View(kept.indptr.astype(np.int64), kept.indices, kept.data, np.empty(0))
    counts, liked = np.bincount(kept.indices, minlength=items.size), wanted[users].nonzero()

    def ndcg(scores: Floats) -> float:
        """Judge the lists that scores make, float64[n_users, n_items], of the users and items above."""
        lists = best_lists(lambda part, _: scores[part], users, seen, counts, _LENGTH, 0)[0]
        return float(list_scores(lists, *liked)["ndcg"].mean())

    gram = gram_of(kept)

    def linked(ridge: float, growth: float) -> Floats:
        return closed_form(gram.copy(), ridges_of(kept, ridge, growth)).scores(seen, users)

    @cache
    def quality(ridge: float, growth: float) -> float:
        return ndcg(linked(ridge, growth))

    growths = (given["growth"],) if "growth" in given else _GROWTHS
    ridge = given.get("ridge", _USUAL["ridge"])
    if "ridge" not in given:
        for step in (_STEP, 1.0 / _STEP):
            while _LEAST <= ridge * step <= _LARGEST and quality(ridge * step, growths[0]) > quality(ridge, growths[0]):
                ridge *= step
    ridges = (ridge,) if "ridge" in given else (ridge, ridge * _FINE, ridge / _FINE)
    ridge, growth = max(product(ridges, growths), key=lambda at: quality(*at))
    balances = (given["balance"],) if "balance" in given else _BALANCES
    best, found, by_links = -1.0, ListSettings(ridge, growth, weights[0], balances[0]), linked(ridge, growth)
    for weight in dict.fromkeys(weights) if balances != (0.0,) else ():
        events = learn(train, weight)
        by_events = events.theta[users] @ np.ascontiguousarray(events.psi[items].T, dtype=np.float64)
        for balance in balances:
            reached = ndcg((1.0 - balance) * by_links + balance * by_events)
            if reached > best:
                best, found = reached, ListSettings(ridge, growth, weight, balance)
    return found
