"""What every model can do once it has learned, written once over the predictions of its fitted value."""

from __future__ import annotations

import os
from copy import copy
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from kolmogorov import _version
from kolmogorov._support.optional import to_frame
from kolmogorov._support.typing import Floats, Rows
from kolmogorov._support.validation import BOOLEAN, NONE, Requirement, check_parameters, integer, one_of, real
from kolmogorov.data import Observations, Scale, Vocabulary
from kolmogorov.data.view import View
from kolmogorov.data.vocabulary import id_text
from kolmogorov.descent.files import write
from kolmogorov.descent.fitted import Trained
from kolmogorov.errors import DataError
from kolmogorov.gpu.lists import ListRules, Lists, lists_at_once, pair_probabilities
from kolmogorov.models import metrics
from kolmogorov.models.ids import (
    Strangers,
    Unknown,
    id_of,
    observations_of,
    pair_frame,
    pair_rows,
    rows_in_blocks,
    rows_of,
)
from kolmogorov.models.metrics import ranking_scores
from kolmogorov.models.ranking import LOWER, Askers, as_columns, best, least_count
from kolmogorov.models.tables import check_evaluable
from kolmogorov.solvers import RowSolver

Output = Literal["probability", "rating"]
Rank = Literal["auto", "probability", "lower"]
_OUTPUT: dict[str, Requirement] = {"output": one_of(("probability", "rating"))}
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


class Recommender(BaseEstimator):  # type: ignore[misc]
    """Base of all models: a subclass learns a `Trained` value and adopts it."""

    fitted_: Trained
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

    def _adopt(self, fitted: Any) -> Self:
        """Take over what was learned, here or elsewhere, for instance read from a file."""
        self.fitted_ = fitted
        self.n_features_in_ = len(fitted.items)
        return self

    @property
    def _is_only_yes(self) -> bool:
        """Whether entries that were not observed counted as a no."""
        return bool(getattr(self, "unobserved", 0.0) != 0.0)

    # --- predictions ----------------------------------------------------------------------------------------------

    def predict(
        self, users: Any, items: Any = None, *, output: Output = "probability", unknown: Unknown = "average"
    ) -> Any:
        """Return probabilities, or ratings.

        Parameters
        ----------
        users, items : id, array-like of ids, or data frame
            Raw ids, aligned; a single id is combined with every one of the other side. Or, as the only argument, a
            data frame with a user and an item in each row, in columns with usual names such as user_id and movie. Where
            both are given, a data frame in the place of ids introduces users or items by their attributes, one for each
            of its rows: see `introduce` of models that know attributes.
        output : {"probability", "rating"}
            On the scale from 0 to 1, or in the units of the ratings.
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
        check_parameters("predict", {"output": output}, _OUTPUT)
        if items is None and not isinstance(users, Observations):
            pairs = None if self._is_table(users) else pair_frame(users)
            if pairs is not None:
                return pairs.appended(self.predict(pairs.users, pairs.items, output=output, unknown=unknown))
            return self._in_units(self._completed(users), output)
        model, users, items = self._met(users, items)
        rows, single = pair_rows(model.fitted_, users, items, unknown)
        result = self._in_units(model._at_rows(*rows), output)
        return float(result[0]) if single else result

    def _met(self, users: Any, items: Any) -> tuple[Self, Any, Any]:
        """Return a model that knows whom frames in the place of ids describe, and their ids; others know none."""
        return self, users, items

    def _at_rows(self, users: Rows, items: Rows) -> Floats:
        return pair_probabilities(self.execution, self.fitted_, users, items)

    def _is_table(self, X: Any) -> bool:
        """Tell a frame with the columns that were learned from, whatever they are called."""
        known = getattr(self, "feature_names_in_", None)
        return known is not None and list(known) == list(getattr(X, "columns", ()))

    def _completed(self, X: Any) -> Floats:
        """Return the completed table of rows that are new; for models that can place them."""
        raise DataError("Give users and items, or Observations.")

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
        test = check_evaluable(observations).rescaled(self.fitted_.scale)
        check_parameters("evaluate", {"ranking": ranking, "k": k, "likes": likes}, _EVALUATE)
        if ranking:
            fitted, n_jobs = self.fitted_, getattr(self, "n_jobs", None)
            rules = ListRules(fitted.training.rows, fitted.item_counts, int(k), 0)

            def elsewhere(rows: Rows) -> Rows | None:
                found = lists_at_once(self.execution, fitted, rows, rows, rules)
                return None if found is None else found[0]

            options = (int(k), fitted.likes if likes is None else float(likes), unknown, n_jobs)
            return ranking_scores(fitted.training, fitted.of_users, test, *options, elsewhere=elsewhere)
        scores = metrics.Scores(test.scale.span, test.is_binary)
        fitted = self.fitted_
        wholes = metrics.DistributionScores(fitted.points) if self._tells_distributions else None
        for part, users, items in rows_in_blocks(fitted, test, unknown):
            values, weights = test.values[part], None if test.weights is None else test.weights[part]
            scores.add(values, self._at_rows(users, items), weights)
            if wholes is not None:
                for first in range(0, len(users), _FEW):
                    few = slice(first, first + _FEW)
                    heavy = None if weights is None else weights[few]
                    wholes.add(values[few], fitted.distribution_at_rows(users[few], items[few]), heavy)
        return scores.result() | ({} if wholes is None else wholes.result())

    # --- recommendations ------------------------------------------------------------------------------------------

    def recommend(
        self,
        users: Any = None,
        n: int = 10,
        *,
        guest: Any = None,
        theta: Any = None,
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
        theta : array-like, optional
            Instead of users: what `fold_in` or `transform` returned for guests, one row each.
        exclude_seen : bool
            Leave out what the user was observed with.
        min_count : int, optional
            Leave out items observed fewer times; by default 5, or less where that leaves little to choose from. An item
            with a single rating fits that rating perfectly and tends to the top.
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
        asked = self._asked(users, n, guest, theta, min_count, rank, unknown, exclude_seen=exclude_seen)
        return to_frame(asked)

    def _asked(
        self,
        users: Any,
        n: int,
        guest: Any = None,
        theta: Any = None,
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
        if sum(given is not None for given in (users, guest, theta)) != 1:
            raise DataError("Give users, a guest, or theta for guests, and only one of them.")
        if theta is not None:
            askers, named = self._placed(theta, rank), True
        elif guest is not None:
            askers, named = self._guests(observations_of(self.fitted_, guest), rank), False
        elif isinstance(users, Observations):
            askers, named = self._guests(users, rank), True
        else:
            askers, named = self._known(users, rank, unknown), np.ndim(users) > 0
        columns = askers.columns(self.fitted_, int(n), min_count, exclude_seen=exclude_seen)
        return columns if named else {name: column for name, column in columns.items() if name != "user"}

    def _lower(self, rank: Rank) -> float | None:
        """Return the share of draws by whose lower bounds lists are ordered; None for probabilities."""
        return LOWER if rank == "lower" or (rank == "auto" and self._has_draws) else None

    def _known(self, users: Any, rank: Rank, unknown: Unknown) -> Askers:
        """Return users by their ids; one that is unknown stands for the population."""
        ids = [users] if np.ndim(users) == 0 else list(users)
        fitted, order = self.fitted_, self._lower(rank)
        rows, seen = rows_of(fitted.users, fitted.user_known, ids, "user", unknown), fitted.training.rows

        def elsewhere(hidden: Rows, counts: NDArray[np.int64], n: int, least: int) -> Lists | None:
            return lists_at_once(self.execution, fitted, rows, hidden, ListRules(seen, counts, n, least, order))

        return Askers(
            [str(id_text(each)) for each in ids],
            rows,
            seen,
            lambda part, lower: fitted.of_users(rows[part], lower),
            order,
            elsewhere,
        )

    def _guests(self, observations: Observations, rank: Rank) -> Askers:
        """Return guests and what they rated."""
        raise NotImplementedError

    def _placed(self, theta: Any, rank: Rank) -> Askers:
        """Return the same for thetas of guests, who are numbered from 0."""
        raise DataError(f"{type(self).__name__} has no thetas; give ids of users it was fitted to.")

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
        chosen = [id_of(fitted.items, item, "item")]
        row = int(Strangers("error", fixed=True).rows_of(fitted.items, fitted.item_known, chosen, "item")[0])
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

    # --- files and learned attributes -----------------------------------------------------------------------------

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
        return self.fitted_.users

    @property
    def items_(self) -> Vocabulary:
        """Ids of the items."""
        return self.fitted_.items

    @property
    def scale_(self) -> Scale:
        """Map between probabilities and rating units."""
        return self.fitted_.scale


def _plain(value: Any) -> Any:
    """Turn a parameter into JSON: a solver becomes its name and options; one from elsewhere stays there."""
    if isinstance(value, RowSolver):
        options = {name: _plain(option) for name, option in value.options().items()}
        return {"family": value.family, "solver": value.name, "options": options}
    if hasattr(value, "solve"):
        return "auto"
    if isinstance(value, (np.ndarray, tuple, list)):
        return np.asarray(value).tolist()
    return value.item() if isinstance(value, np.generic) else value
