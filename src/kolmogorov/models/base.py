"""What every model can do once it has learned, written once: predict, evaluate, recommend, update, be saved.

`Recommender` is all of that over the predictions of a fitted value. `EventModel` adds what models can do whose users
are distributions over events: place new rows, and be transformers for scikit-learn.
"""

from __future__ import annotations

import hashlib
import os
import sys
from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kolmogorov import _version
from kolmogorov._support.optional import to_frame
from kolmogorov._support.progress import says_stop, warn
from kolmogorov._support.seeds import base_seed
from kolmogorov._support.threads import one_blas_thread, thread_count
from kolmogorov._support.typing import Floats, Rows
from kolmogorov._support.validation import (
    AUTO,
    BOOLEAN,
    CALLBACK,
    MOST_ROUNDS,
    MOST_RUNS,
    NONE,
    Requirement,
    check_parameters,
    instance,
    integer,
    one_of,
    real,
)
from kolmogorov.cluster.dask import Dask
from kolmogorov.data import Observations, Scale, Vocabulary
from kolmogorov.data.attributes import Newcomers, Side, described
from kolmogorov.data.changes import Change, changed
from kolmogorov.data.observations import check_trainable
from kolmogorov.data.scale import LARGEST_WEIGHT
from kolmogorov.data.view import View
from kolmogorov.data.vocabulary import id_text
from kolmogorov.descent import placing
from kolmogorov.descent.engine import Sweep
from kolmogorov.descent.files import write
from kolmogorov.descent.fitted import Fitted, Trained
from kolmogorov.draws.sampler import SamplingProgress
from kolmogorov.errors import DataError, UnknownIdWarning
from kolmogorov.gpu.cuda import Cuda
from kolmogorov.gpu.lists import lists_at_once
from kolmogorov.models import metrics
from kolmogorov.models.ids import (
    Unknown,
    id_of,
    known_part,
    no_data,
    observations_of,
    pair_frame,
    pair_rows,
    pairs_of,
    rows_in_blocks,
    rows_of,
)
from kolmogorov.models.interpretation import Interpretation
from kolmogorov.models.metrics import ranking_scores
from kolmogorov.models.ranking import LOWER, Askers, Said, as_columns, best, least_count
from kolmogorov.models.tables import check_evaluable, table_of
from kolmogorov.solvers import RowSolver

Auto = Literal["auto"]
Output = Literal["probability", "rating"]
Rank = Literal["auto", "probability", "lower"]
OUTPUT: dict[str, Requirement] = {"output": one_of(("rating", "probability"))}
_RECOMMEND: dict[str, Requirement] = {
    "n": integer(1),
    "min_count": integer(1) | NONE,
    "rank": one_of(("auto", "probability", "lower")),
    "exclude_seen": BOOLEAN,
}
_EVALUATE: dict[str, Requirement] = {"ranking": BOOLEAN, "k": integer(1), "likes": real(0.0, 1.0) | NONE}
#: What belongs to a run and not to the model it made: no file holds it.
NOT_STORED = ("callback", "checkpoint", "execution", "n_jobs", "random_state", "verbose")
#: Entries whose distributions are held at once, by judgement.
_FEW = 1 << 16
#: What is asked of the parameters that all models with events have.
COMMON_RULES: dict[str, Requirement] = {
    "n_events": integer(1) | AUTO,
    "unobserved": real(0.0, LARGEST_WEIGHT) | AUTO,
    "execution": instance(Cuda) | instance(Dask) | NONE,
    "callback": CALLBACK,
    "verbose": BOOLEAN | integer(0),
}


def lengths(*names: str) -> dict[str, Requirement]:
    """Return what is asked of parameters that say how long a fit goes on: numbers of runs, or of rounds of one."""
    return {name: integer(1, MOST_RUNS if name == "n_chains" else MOST_ROUNDS) | AUTO for name in names}


class Recommender(BaseEstimator):  # type: ignore[misc]
    """Base of all models: a subclass learns a `Trained` value and adopts it."""

    fitted_: Any
    n_jobs: int | None
    random_state: Any
    verbose: int
    callback: Callable[[Any], Any] | None
    #: What is learned.
    _learned: ClassVar[type[Trained]]
    #: Where to compute; a parameter of models that can do so elsewhere.
    execution: Any = None
    #: Whether what was learned are draws, which say how sure they are.
    _has_draws: ClassVar[bool] = False
    #: Whether `predict_distribution` is there.
    _tells_distributions: ClassVar[bool] = False
    #: What is asked of parameters.
    _rules: ClassVar[dict[str, Requirement]] = {}

    def _check_parameters(self) -> None:
        """Raise for the first parameter that is not in order."""
        check_parameters(type(self).__name__, self.get_params(deep=False), self._rules)
        thread_count(self.n_jobs)

    def _adopt(self, fitted: Any) -> Self:
        """Take over what was learned, here or elsewhere, for instance read from a file."""
        self.fitted_ = fitted
        self.n_features_in_ = len(fitted.items)
        return self

    @property
    def _is_only_yes(self) -> bool:
        """Whether entries that were not observed counted as a no."""
        return bool(getattr(self, "unobserved", 0.0) != 0.0)

    @property
    def _one_model(self) -> Fitted:
        """The one model that is read: itself, or of draws the one that stands for them."""
        found: Fitted = self.fitted_
        return found

    @abstractmethod
    def _moved(self, fitted: Any, change: Change) -> Any:
        """Return what was learned after a change of its table."""

    # --- predictions ----------------------------------------------------------------------------------------------

    def predict(self, users: Any, items: Any = None, *, output: Output = "rating", unknown: Unknown = "average") -> Any:
        """Return ratings, or probabilities.

        Parameters
        ----------
        users, items : id, array-like of ids, or data frame
            Raw ids, aligned; a single id is combined with every one of the other side. Or, as the only argument, a
            data frame with a user and an item in each row, in columns with usual names such as user_id and movie.
        output : {"rating", "probability"}
            In the units of the data, or on the scale from 0 to 1.
        unknown : {"average", "ignore", "error"}
            What to do with ids that had no observations at `fit`: use the population and the average over items, with a
            warning of ids that the model has never heard of or ("ignore") without; or raise `UnknownIdError`.

        Returns
        -------
        float or ndarray
            One for each pair. With `Observations` as the only argument, one for each entry. With a frame of pairs the
            frame, as what it came, with a column `prediction`, in place of one of that name. With a table as the only
            argument, and a model that can place new rows, the completed table of shape (n_rows, n_items).
        """
        check_is_fitted(self)
        check_parameters("predict", {"output": output}, OUTPUT)
        if items is None and not isinstance(users, Observations):
            known = getattr(self, "feature_names_in_", None)
            # A frame with the columns that were learned from is a table, whatever they are called.
            a_table = known is not None and list(known) == list(getattr(users, "columns", ()))
            pairs = None if a_table else pair_frame(users)
            if pairs is not None:
                return pairs.appended(self.predict(pairs.users, pairs.items, output=output, unknown=unknown))
            return self._in_units(self._completed(users), output)
        rows, single = pair_rows(self.fitted_, users, items, unknown)
        result = self._in_units(self.fitted_.at_rows(*rows), output)
        return float(result[0]) if single else result

    @abstractmethod
    def _completed(self, X: Any) -> Floats:
        """Return the completed table of rows that are new."""

    def _in_units(self, probability: Any, output: Output) -> Any:
        return self.fitted_.scale.rating(probability) if output == "rating" else probability

    def evaluate(
        self,
        observations: Observations,
        *,
        ranking: bool = False,
        k: int = 10,
        likes: float | None = None,
        unknown: Unknown = "average",
    ) -> dict[str, float]:
        """Compare predictions with observations, or lists of recommendations with what was liked.

        Parameters
        ----------
        observations : Observations
            That the model was not fitted to. It predicts those that it was fitted to better than new ones.
        ranking : bool
            Rank all items for every user, leave out those that the model was fitted to for this user, and compare the
            best k with those they like in `observations`.
        k : int
            Length of the lists.
        likes : float, optional
            With `ranking`: least value that counts as liked, on the probability scale; by default the smallest rating
            that at most about half of the training data reach.
        unknown : {"average", "ignore", "error"}
            As in `predict`; a liked item that the model does not know is one that no list holds.

        Returns
        -------
        dict
            `rmse` and `mae` on the probability scale, `rmse_rating` and `mae_rating` in rating units, and for
            0/1 data `accuracy`, `log_loss` and `brier`. For models with events also, of `predict_distribution`:
            `log_score`, the mean logarithm of the probability of what was observed (nearer to 0 is better), and
            `calibration`, how far the probabilities of reaching each value of the scale are from the shares that did,
            in ten bins each, on average (0 is best). One hundredth of every distribution is spread evenly.
            With `ranking` instead the means over users of `recall` (share of what they like that is in their list),
            `precision` (share of the list that they like), `ndcg`, `map`, `mrr` and `hit_rate`; and `coverage`, the
            share of all items that are in some list, and `mean_popularity`, the mean number of training observations of
            what is listed.
        """
        check_is_fitted(self)
        fitted = self.fitted_
        test = check_evaluable(observations).rescaled(fitted.scale)
        check_parameters("evaluate", {"ranking": ranking, "k": k, "likes": likes}, _EVALUATE)
        if ranking:
            listed = (fitted.training.rows, fitted.item_counts, int(k), 0)

            def elsewhere(rows: Rows) -> Rows | None:
                found = lists_at_once(self.execution, fitted, rows, rows, *listed)
                return None if found is None else found[0]

            options = (int(k), fitted.likes if likes is None else float(likes), unknown)
            return ranking_scores(fitted.training, fitted.of_users, test, *options, elsewhere=elsewhere)
        scores = metrics.Scores(test.scale.span, test.is_binary, fitted.points if self._tells_distributions else None)
        for part, users, items in rows_in_blocks(fitted, test, unknown):
            values, weights = test.values[part], None if test.weights is None else test.weights[part]
            scores.add(values, fitted.at_rows(users, items), weights)
            for first in range(0, len(users) if self._tells_distributions else 0, _FEW):
                few = slice(first, first + _FEW)
                heavy = None if weights is None else weights[few]
                scores.add_forecasts(values[few], fitted.distribution_at_rows(users[few], items[few]), heavy)
        return scores.result()

    # --- recommendations ------------------------------------------------------------------------------------------

    def recommend(
        self,
        users: Any = None,
        n: int = 10,
        *,
        guest: Any = None,
        exclude_seen: bool = True,
        min_count: int | None = None,
        rank: Rank = "auto",
        unknown: Unknown = "error",
    ) -> Any:
        """Return the best items of a user, of several, or of guests, as a data frame.

        Parameters
        ----------
        users : id, array-like of ids, or Observations
            Observations are those of guests, whom the model places first (`fold_in`).
        n : int
        guest : dict, optional
            Instead of users: ratings of one guest, in rating units, by ids or titles of items, as
            ``{"Alien": 5, "Heat": 2}``. Items that the model does not know are left out with a warning.
        exclude_seen : bool
            Leave out what the user was observed with.
        min_count : int, optional
            Leave out items observed fewer times; by default 5, or less where that leaves little to choose from. An item
            with a single rating fits that rating perfectly and tends to the top. Items that are placed by attributes
            alone are listed unless it is given.
        rank : {"auto", "probability", "lower"}
            Order by the probability, or by what nine draws in ten exceed; "auto" takes the lower bound where there are
            draws.
        unknown : {"error", "average", "ignore"}
            An unknown user is an error, or gets what the population would, with or without a warning.

        Returns
        -------
        DataFrame
            Columns item, title where there are titles, probability, rating and count (observations of the item); for
            several users a column user before them. A `ListModel` has a score, which is neither probability nor rating.
        """
        asked = self._asked(users, n, guest, min_count, rank, unknown, exclude_seen=exclude_seen)
        return to_frame(asked)

    def _asked(
        self,
        users: Any,
        n: int,
        guest: Any = None,
        min_count: int | None = None,
        rank: Rank = "auto",
        unknown: Unknown = "error",
        *,
        exclude_seen: bool = True,
    ) -> dict[str, NDArray[Any]]:
        """Return the columns of `recommend`."""
        check_is_fitted(self)
        given = {"n": n, "min_count": min_count, "rank": rank, "exclude_seen": exclude_seen}
        check_parameters("recommend", given, _RECOMMEND)
        if (users is None) == (guest is None):
            raise DataError("Give users or a guest, and only one of them.")
        lower = LOWER if rank == "lower" or (rank == "auto" and self._has_draws) else None
        if guest is not None:
            askers, named = self._guests(observations_of(self.fitted_, [guest])), False
        elif isinstance(users, Observations):
            askers, named = self._guests(users), True
        else:
            askers, named = self._known(users, unknown), np.ndim(users) > 0
        options = (int(n), min_count, lower, self.execution)
        columns = askers.columns(self.fitted_, *options, exclude_seen=exclude_seen)
        return columns if named else {name: column for name, column in columns.items() if name != "user"}

    def _known(self, users: Any, unknown: Unknown) -> Askers:
        """Return users by their ids; one that is unknown stands for the population."""
        ids, fitted = [users] if np.ndim(users) == 0 else list(users), self.fitted_
        rows, seen = rows_of(fitted.users, fitted.user_known, ids, "user", unknown), fitted.training.rows
        texts = [str(id_text(each)) for each in ids]
        return Askers(texts, rows, seen, lambda part, lower: fitted.of_users(rows[part], lower), rows)

    def _guests(self, observations: Observations) -> Askers:
        """Return guests and what they rated."""
        known = known_part(self.fitted_, observations.rescaled(self.fitted_.scale))
        view = placing.view_of(self.fitted_, known, "users")
        ids = observations.users.ids.tolist()
        return Askers(ids, np.arange(len(ids)), view, self._said_of(view, self._new_thetas(view)))

    def _said_of(self, view: View, theta: Floats) -> Said:
        """Return a function from a part of new users, with their observations and thetas, to what is predicted."""
        return lambda part, lower: self.fitted_.of_thetas(theta[part], lower)

    @abstractmethod
    def _new_thetas(self, view: View) -> Floats:
        """Return thetas for rows of observations whose partners are the model's items."""

    def similar_items(self, item: Any, n: int = 10, *, min_count: int | None = None) -> Any:
        """Return the items most like one of them, which is given by its id or its title, as a data frame.

        The similarity is the population's probability of both items over that of either.

        Returns
        -------
        DataFrame
            Columns item, title where there are titles, similarity and count (observations of the item).
        """
        return to_frame(self._similar_columns(item, n, min_count))

    def _similar_columns(self, item: Any, n: int, min_count: int | None = None) -> dict[str, NDArray[Any]]:
        """Return the columns of `similar_items`."""
        check_is_fitted(self)
        rules = {name: _RECOMMEND[name] for name in ("n", "min_count")}
        check_parameters("similar_items", {"n": n, "min_count": min_count}, rules)
        fitted = self.fitted_
        item = id_of(fitted.items, item, "item")
        row = int(fitted.items.encode([item], "item")[0])
        if row < 0 or not fitted.item_known[row]:
            raise no_data(fitted.items, item, "item")
        likeness = fitted.similar_to(row)
        least = least_count(fitted.item_counts, n, min_count)
        itself = View(np.array([0, 1]), np.array([row], dtype=np.int32), np.ones(1), np.empty(0))
        rows = best(likeness[None], np.zeros(1, dtype=np.int64), itself, fitted.item_counts, n, least)[0]
        columns = as_columns(fitted, rows, likeness[rows])
        kept = {name: columns[name] for name in columns if name not in ("probability", "rating", "score", "count")}
        return {**kept, "similarity": likeness[rows], "count": columns["count"]}

    def with_titles(self, items: Any = None, users: Any = None) -> Self:
        """Return a copy whose items or users are called something, as in `Observations.with_titles`."""
        check_is_fitted(self)
        training = self.fitted_.training.with_titles(items, users)
        return copy(self)._adopt(self.fitted_.with_training(training))

    # --- going on to learn ----------------------------------------------------------------------------------------

    def update(
        self,
        observations: Any = None,
        *,
        users: Any = None,
        items: Any = None,
        remove: Any = None,
        forget: Any = None,
    ) -> Self:
        """Go on learning: take in new ratings, correct some, remove some.

        Users and items whose entries have changed are learned again given all others, and new ones are placed. Once a
        hundredth of the ratings have changed, in this update and those since the last time, chains start from a
        `KolmogorovModel` of ratings and go over the whole table, and the model moves to what they say. Draws are made
        again over the whole table, by chains that start from the last draws; a line says so. Of a `ListModel` the links
        are those of the new table, with the settings that `fit` chose. Everything is computed on threads, and before
        anything is replaced: an update that is interrupted leaves the model as it was.

        Parameters
        ----------
        observations : Observations, optional
            Ratings of known or new users and items. One of a user and an item that the model has a rating of takes the
            place of that rating. They must fit into the scale of the model.
        users, items : data frame or path, optional
            Attributes of new users and items, one row for each, for a model that was fitted with attributes. Who and
            what has no ratings is placed by them; those with ratings in `observations` begin there.
        remove : sequence of (user, item), data frame or Observations, optional
            Ratings to take out: pairs of ids, or a frame with a column of each. A user or an item that loses its last
            rating leaves the model, with its id. A rating that is removed and given in `observations` is there
            afterwards.
        forget : sequence of ids, optional
            Users all of whose ratings are taken out, and who leave the model.

        Returns
        -------
        self
            An update that changes no rating changes no bit. With an integer `random_state` the same update of the same
            model gives the same bits.

        Examples
        --------
        >>> import kolmogorov as km
        >>> zoo = km.datasets.load("zoo")
        >>> model = km.KolmogorovModel(5, random_state=0).fit(zoo)
        >>> unicorn = km.Observations.from_arrays(["unicorn"] * 3, ["hair", "milk", "feathers"], [1, 1, 0])
        >>> model.update(unicorn).predict("unicorn", "backbone") > 0.5
        True
        >>> "unicorn" in model.update(forget=["unicorn"]).users_.ids
        False
        """
        check_is_fitted(self)
        if observations is not None and not isinstance(observations, Observations):
            raise DataError(f"update takes Observations, got {type(observations).__name__}.")
        fitted = self._introduced(self.fitted_, self._described(users, "users"), self._described(items, "items"))
        pairs = None if remove is None else pairs_of(remove)
        leaving = None if forget is None else [forget] if np.ndim(forget) == 0 else list(forget)
        change, missing = changed(fitted.training, observations, pairs, leaving)
        if missing:
            count = "1 rating or user" if missing == 1 else f"{missing:,} ratings or users"
            warn(f"{count} to remove: the model has no such rating. The others are removed.", UnknownIdWarning)
        if change.is_empty:
            return self if fitted is self.fitted_ else self._adopt(fitted)
        check_trainable(change.after, only_yes=self._is_only_yes)
        self._adopt(self._moved(fitted, change))
        # Names of columns that scikit-learn noted at `fit` are no longer those of the items.
        self.__dict__.pop("feature_names_in_", None)
        return self

    def _described(self, raw: Any, side: Side) -> Newcomers | None:
        """Return what a frame says of new rows; None where there is none."""
        if raw is None:
            return None
        known = getattr(self.fitted_, f"{side[:-1]}_attributes", None)
        if known is None:
            raise DataError(f"The model knows no attributes of {side}. Fit it with them: fit(X, {side}=frame).")
        return described(raw, known.columns, side)

    def _introduced(self, fitted: Any, users: Newcomers | None, items: Newcomers | None) -> Any:
        """Return what was learned, with new users and items placed by their attributes."""
        return fitted

    # --- a fit, files and learned attributes ----------------------------------------------------------------------

    def _on_sweep(self, sweep: Sweep) -> bool:
        seconds = sweep.user_seconds + sweep.item_seconds
        place = f"sweep {sweep.sweep:3d}  objective {sweep.objective:.6g}  rmse {sweep.rmse:.4f}"
        return self._told(f"{place}  {seconds:.3f} s", sweep)

    def _told(self, line: str, progress: Any) -> bool:
        """Write a line where that is wanted; return whether the callback ends the fit."""
        if self.verbose:
            sys.stderr.write(f"{line}\n")
        return self.callback is not None and says_stop(self.callback(progress))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, ids included, to be read by `kolmogorov.load`."""
        check_is_fitted(self)
        options = {name: value for name, value in self.get_params(deep=False).items() if name not in NOT_STORED}
        parameters = {name: _plain(value) for name, value in options.items()}
        meta, arrays = self.fitted_.stored()
        write(path, type(self).__name__, {"library": _version.__version__, "parameters": parameters, **meta}, arrays)

    @property
    def users_(self) -> Vocabulary:
        """Ids of the users."""
        found: Vocabulary = self.fitted_.users
        return found

    @property
    def items_(self) -> Vocabulary:
        """Ids of the items."""
        found: Vocabulary = self.fitted_.items
        return found

    @property
    def scale_(self) -> Scale:
        """Map between probabilities and rating units."""
        found: Scale = self.fitted_.scale
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.positive_only = True
        return tags


class EventModel(Interpretation, TransformerMixin, Recommender):  # type: ignore[misc]
    """Base of Kolmogorov models, drawn or not."""

    _tells_distributions = True

    @abstractmethod
    def _new_psis(self, view: View) -> NDArray[Any]:
        """Return psis for rows of observations whose partners are the model's users."""

    @property
    def _n_columns(self) -> int:
        """Number of columns of thetas: the events, of draws those of all of them."""
        return int(getattr(self.fitted_, "n_draws", 1) * self.fitted_.n_events)

    def predict_distribution(
        self, users: Any, items: Any = None, *, as_frame: bool = False, unknown: Unknown = "average"
    ) -> Any:
        """Return the probability of each rating for pairs of ids: what somebody answers, noise included.

        Parameters
        ----------
        users, items : id or array-like of ids
            Raw ids, aligned; a single id is combined with every one of the other side. Observations as the only
            argument stand for their entries.
        as_frame : bool
            Return a data frame with a column for each rating.
        unknown : {"average", "ignore", "error"}
            As in `predict`.

        Returns
        -------
        ndarray of shape (n, n_ratings), or (n_ratings,) for a single pair; or DataFrame
            Columns are the ratings of `rating_values_`, lowest first; of yes/no data, no and yes. Rows sum to 1, and
            their mean is what `predict` says, unless that lies beyond the ratings.

        Examples
        --------
        >>> import kolmogorov as km
        >>> train, test = km.datasets.load("zoo").split(test_size=0.2, random_state=0)
        >>> model = km.KolmogorovModel(5, random_state=0).fit(train)
        >>> chances = model.predict_distribution(test)
        >>> chances.shape == (len(test), 2), bool(np.allclose(chances @ model.rating_values_, model.predict(test)))
        (True, True)
        """
        check_is_fitted(self)
        check_parameters("predict_distribution", {"as_frame": as_frame}, {"as_frame": BOOLEAN})
        rows, single = pair_rows(self.fitted_, users, items, unknown)
        found: Floats = self.fitted_.distribution_at_rows(*rows)
        if as_frame:
            return to_frame({f"{value:g}": found[:, k] for k, value in enumerate(self.rating_values_)})
        return found[0] if single else found

    @property
    def rating_values_(self) -> Floats:
        """The ratings that somebody may give, in rating units: the columns of `predict_distribution`."""
        found: Floats = self.fitted_.scale.rating(self.fitted_.points)
        return found

    def fold_in(self, observations: Observations, side: placing.Side = "auto") -> NDArray[Any]:
        """Place users or items that were not there at `fit`, without changing the model.

        Parameters
        ----------
        observations : Observations
            Of new users with items the model knows, or of new items with users it knows.
        side : {"auto", "users", "items"}
            Which side is new. "auto" takes the side whose partners are all known; users if both are.

        Returns
        -------
        ndarray
            theta of shape (n_new_users, n_events), or psi of shape (n_new_items, n_events), in the order of
            `observations.users.ids` or `observations.items.ids`; with draws, the events of all draws side by side. A
            user without observations gets the population's theta.
        """
        check_is_fitted(self)
        if not isinstance(observations, Observations):
            raise DataError(f"fold_in takes Observations, got {type(observations).__name__}.")
        new = placing.side_of(self.fitted_, observations, side)
        view = placing.view_of(self.fitted_, observations.rescaled(self.fitted_.scale), new)
        return self._new_thetas(view) if new == "users" else self._new_psis(view)

    def transform(self, X: Any) -> Floats:
        """Return theta for the rows of a table by fold-in; columns are the items of `fit`, in their order."""
        check_is_fitted(self)
        return self._new_thetas(placing.view_of(self.fitted_, table_of(self, X, reset=False), "users"))

    def inverse_transform(self, theta: Any) -> Floats:
        """Return ratings of all items for given thetas, in the units of the data: an array of shape (n, n_items)."""
        check_is_fitted(self)
        try:
            rows = np.asarray(theta, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(f"theta must be an array of numbers, got {type(theta).__name__}.") from None
        if not np.isfinite(rows).all():
            raise DataError("theta must hold finite numbers, got NaN or infinity.")
        if rows.ndim != 2 or rows.shape[1] != self._n_columns:
            raise DataError(f"theta must have shape (n, {self._n_columns}), got {rows.shape}.")
        found: Floats = self.scale_.rating(self._of_thetas(rows))
        return found

    def _of_thetas(self, theta: Floats) -> Floats:
        with one_blas_thread():
            found: Floats = self.fitted_.of_thetas(theta)
        return found

    def score(self, X: Any, y: None = None) -> float:
        """Return minus the RMSE in the units of the data, so that larger is better.

        For Observations that of `evaluate`; for a table that of its observed entries after its rows were folded in.
        """
        check_is_fitted(self)
        if isinstance(X, Observations):
            return -self.evaluate(X)["rmse_rating"]
        observations = table_of(self, X, reset=False)
        errors = self._completed(X)[observations.user_rows(), observations.item_rows()] - observations.values
        return -self.scale_.span * float(np.sqrt(np.average(errors**2, weights=observations.weights)))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of `transform`: event0, event1, ..."""
        check_is_fitted(self)
        return np.array([f"event{d}" for d in range(self._n_columns)], dtype=object)

    # --- inside ---------------------------------------------------------------------------------------------------

    def _completed(self, X: Any) -> Floats:
        return self._of_thetas(self._new_thetas(placing.view_of(self.fitted_, table_of(self, X, reset=False), "users")))

    def _on_draw(self, draw: SamplingProgress) -> bool:
        return self._told(f"chain {draw.chain + 1}/{draw.n_chains}  sweep {draw.sweep}/{draw.n_sweeps}", draw)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def seed_for(model: Recommender, table: Observations) -> int:
    """Return a seed for this table: one update after another must not meet the same random numbers again."""
    text = f"{base_seed(model.random_state)} {table.fingerprint()}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1


def _plain(value: Any) -> Any:
    """Turn a parameter into JSON: a solver becomes its name and options; one from elsewhere stays there."""
    if isinstance(value, RowSolver):
        options = {name: _plain(option) for name, option in vars(value).items()}
        return {"family": value.family, "solver": value.name, "options": options}
    if hasattr(value, "solve"):
        return "auto"
    if isinstance(value, (np.ndarray, tuple, list)):
        return np.asarray(value).tolist()
    return value.item() if isinstance(value, np.generic) else value
