"""What every model can do once it has learned, written once: predict, evaluate, recommend, update, be read and saved.

All of it is asked of the `Trained` value that `fit` leaves in `fitted_`.
"""

from __future__ import annotations

import hashlib
import os
import sys
from abc import abstractmethod
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from kolmogorov import _version
from kolmogorov._support.display import passing, says_stop, warn
from kolmogorov._support.outside import to_frame
from kolmogorov._support.seeds import base_seed
from kolmogorov._support.threads import thread_count
from kolmogorov._support.typing import Floats, Rows
from kolmogorov._support.validation import BOOLEAN, NONE, Requirement, check_parameters, integer, one_of, real
from kolmogorov.data import Observations, Scale, Vocabulary
from kolmogorov.data.attributes import Newcomers, Side, described
from kolmogorov.data.changes import Change, changed
from kolmogorov.data.observations import check_any, check_trainable
from kolmogorov.data.view import View
from kolmogorov.data.vocabulary import id_text
from kolmogorov.descent import placing
from kolmogorov.descent.engine import Sweep
from kolmogorov.descent.files import write
from kolmogorov.descent.fitted import Fitted, Trained
from kolmogorov.draws.posterior import Posterior
from kolmogorov.errors import DataError, KolmogorovWarning, UnknownIdWarning
from kolmogorov.models.ids import (
    Unknown,
    counted,
    frame_pairs,
    id_of,
    known_part,
    no_data,
    observations_of,
    pair_rows,
    pairs_of,
    rows_in_blocks,
    rows_of,
)
from kolmogorov.models.metrics import Scores, ranking_scores
from kolmogorov.models.ranking import LOWER, Askers, Said, as_columns, best, least_count
from kolmogorov.solvers import RowSolver

if TYPE_CHECKING:
    from kolmogorov.interpret.events import Events
    from kolmogorov.report import Page

Output = Literal["rating", "probability"]
#: What may be asked of a model that has learned.
_ASKED: dict[str, Requirement] = {
    "output": one_of(("rating", "probability")),
    "n": integer(1),
    "min_count": integer(1) | NONE,
    "rank": one_of(("auto", "probability", "lower")),
    "exclude_seen": BOOLEAN,
    "ranking": BOOLEAN,
    "k": integer(1),
    "likes": real(0.0, 1.0) | NONE,
}
#: What belongs to a run and not to the model it made: no file holds it.
NOT_STORED = ("callback", "checkpoint", "execution", "n_jobs", "random_state", "verbose")


def check_asked(what: str, **given: Any) -> None:
    """Raise for the first argument of a question that is not in order."""
    check_parameters(what, given, {name: _ASKED[name] for name in given})


class Recommender(BaseEstimator):  # type: ignore[misc]
    """Base of all models: a subclass learns a `Trained` value and adopts it."""

    fitted_: Trained
    #: What is learned.
    _learned: ClassVar[type[Trained]]
    #: What is asked of parameters.
    _rules: ClassVar[dict[str, Requirement]] = {}
    #: Where to compute; a parameter of models that can do so elsewhere.
    execution: Any = None
    #: Whether what was learned are draws, which say how sure they are.
    _has_draws: ClassVar[bool] = False

    def _set(self, given: dict[str, Any]) -> None:
        """Take over the parameters, as scikit-learn wants: as they came."""
        self.__dict__.update({name: value for name, value in given.items() if name != "self"})

    def _check_parameters(self) -> None:
        check_parameters(type(self).__name__, self.get_params(deep=False), self._rules)
        thread_count(self.n_jobs)

    def _adopt(self, fitted: Any) -> Self:
        """Take over what was learned, here or elsewhere, for instance read from a file."""
        passing("")
        self.fitted_ = fitted
        self.n_features_in_ = len(fitted.items)
        return self

    @property
    def _is_only_yes(self) -> bool:
        """Whether entries that were not observed counted as a no."""
        return bool(getattr(self, "unobserved", 0.0) != 0.0)

    @property
    @abstractmethod
    def _one_model(self) -> Fitted:
        """The one model that is read: itself, or of draws the one that stands for them."""

    # --- predictions ----------------------------------------------------------------------------------------------

    def predict(self, users: Any, items: Any = None, *, output: Output = "rating", unknown: Unknown = "average") -> Any:
        """Return ratings, or probabilities.

        Parameters
        ----------
        users, items : id, array-like of ids, or data frame
            Aligned ids; a single one is combined with every one of the other side. Or, as the only argument, a data
            frame with a user and an item in each row, in columns with usual names such as user_id and movie.
        output : {"rating", "probability"}
            In the units of the data, or on the scale from 0 to 1.
        unknown : {"average", "ignore", "error"}
            What to do with ids that had no observations at `fit`: use the population and the average over items, with a
            warning of ids that the model has never heard of or ("ignore") without; or raise `UnknownIdError`, as is
            done in any case but "ignore" where the model knows none of the ids.

        Returns
        -------
        float or ndarray
            One for each pair. With `Observations` as the only argument, one for each entry. With a table as the only
            argument, whose rows are new people, the completed table of shape (n_rows, n_items).
        """
        check_is_fitted(self)
        check_asked("predict", output=output)
        if items is None and not isinstance(users, Observations):
            known = getattr(self, "feature_names_in_", None)
            # A frame with the columns that were learned from is a table, whatever they are called.
            a_table = known is not None and list(known) == list(getattr(users, "columns", ()))
            pairs = None if a_table else frame_pairs(users)
            if pairs is None:
                return self._in_units(self._completed(users), output)
            users, items = pairs
        rows, single = pair_rows(self.fitted_, users, items, unknown)
        found = self._in_units(self.fitted_.at_rows(*rows), output)
        return float(found[0]) if single else found

    @abstractmethod
    def _completed(self, X: Any) -> Floats:
        """Return the completed table of rows that are new, on the probability scale."""

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
            best `k` with those they like in `observations`.
        likes : float, optional
            With `ranking`: least value that counts as liked, on the probability scale; by default the smallest rating
            that at most about half of the training data reach.
        unknown : {"average", "ignore", "error"}
            As in `predict`; a liked item that the model does not know is one that no list holds.

        Returns
        -------
        dict
            `rmse` and `mae` on the probability scale, `rmse_rating` and `mae_rating` in the units of the data, and for
            0/1 data `accuracy`, `log_loss` and `brier`. For models with events also, of `predict_distribution`:
            `log_score`, the mean logarithm of the probability of what was observed (nearer to 0 is better), and
            `calibration`, how far the probabilities of reaching each value of the scale are from the shares that did,
            in ten bins each, on average (0 is best); one hundredth of every distribution is spread evenly. Of draws
            `coverage_90`, the share of ratings that the 90% interval holds. With `ranking` instead the means over users
            of `recall`, `precision`, `ndcg`, `map`, `mrr` and `hit_rate`; `coverage`, the share of all items that are
            in some list; and `mean_popularity`, the mean number of training observations of what is listed.
        """
        check_is_fitted(self)
        check_asked("evaluate", ranking=ranking, k=k, likes=likes)
        if not isinstance(observations, Observations):
            came = type(observations).__name__
            raise DataError(f"evaluate takes Observations, got {came}. Make them with read_ratings or from_arrays.")
        check_any(observations, "to compare predictions with")
        fitted, test = self.fitted_, observations.rescaled(self.scale_)
        if ranking:

            def lists(rows: Rows) -> Rows:
                return self._at_rows([], rows).lists(fitted, self.execution, fitted.item_counts, int(k), 0)[0]

            least = fitted.likes if likes is None else float(likes)
            return ranking_scores(fitted.training, lists, test, least, unknown)
        scores = Scores(test.scale.span, test.is_binary, None if fitted.has_scores else fitted.points)
        for part, users, items in rows_in_blocks(fitted, test, unknown):
            values, weights = test.values[part], None if test.weights is None else test.weights[part]
            scores.add(values, fitted.at_rows(users, items), weights)
            if not fitted.has_scores:
                scores.add_forecasts(values, fitted.distribution_at_rows(users, items), weights)
        found = scores.result()
        if isinstance(fitted, Posterior):
            rows, _ = pair_rows(fitted, test, None, "ignore")
            found["coverage_90"] = fitted.coverage(*rows, test.values, test.weights)
        return found

    # --- recommendations ------------------------------------------------------------------------------------------

    def recommend(
        self,
        users: Any = None,
        n: int = 10,
        *,
        guest: Any = None,
        exclude_seen: bool = True,
        min_count: int | None = None,
        rank: Literal["auto", "probability", "lower"] = "auto",
        unknown: Unknown = "average",
    ) -> Any:
        """Return the best items of a user, of several, or of guests, as a data frame.

        Parameters
        ----------
        users : id, array-like of ids, or Observations
            Observations are those of guests, whom the model places first.
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
            Order by the probability, or by what nine draws in ten exceed: "auto", where there are draws.
        unknown : {"average", "ignore", "error"}
            As in `predict`: an unknown user gets what the population would.

        Returns
        -------
        DataFrame
            Columns item, title where there are titles, probability, rating and count (observations of the item); for
            several users a column user before them. A `ListModel` has a score, which is neither probability nor rating.
        """
        options = {"exclude_seen": exclude_seen, "min_count": min_count, "rank": rank, "unknown": unknown}
        return to_frame(self._asked(users, n, guest, **options))

    def _asked(self, users: Any, n: int, guest: Any = None, **given: Any) -> dict[str, NDArray[Any]]:
        """Return the columns of `recommend`."""
        check_is_fitted(self)
        asked: dict[str, Any] = {"exclude_seen": True, "min_count": None, "rank": "auto", **given}
        unknown = asked.pop("unknown", "average")
        check_asked("recommend", n=n, **asked)
        if (users is None) == (guest is None):
            raise DataError("Give users or a guest, and only one of them.")
        if guest is not None or isinstance(users, Observations):
            named = guest is None
            askers = self._guests(users if named else observations_of(self.fitted_, [guest]))
        else:
            named = np.ndim(users) > 0
            askers = self._known(list(users) if named else [users], unknown)
        lower = LOWER if asked["rank"] == "lower" or (asked["rank"] == "auto" and self._has_draws) else None
        if not asked["exclude_seen"]:
            askers = replace(askers, rows=np.full_like(askers.rows, askers.seen.indptr.size - 1))
        columns = askers.columns(self.fitted_, self.execution, int(n), asked["min_count"], lower)
        listed = set(columns["user"].tolist())
        if empty := [asker for asker in askers.ids if asker not in listed]:
            whom = counted("user", empty) if named or guest is None else "the guest"
            left = "every item has a rating of theirs, or too few ratings for min_count"
            warn(f"Nothing is left to recommend to {whom}: {left}. See exclude_seen=False.", KolmogorovWarning)
        return columns if named else {name: column for name, column in columns.items() if name != "user"}

    def _known(self, ids: list[Any], unknown: Unknown) -> Askers:
        """Return users by their ids; one that is unknown stands for the population."""
        fitted = self.fitted_
        rows = rows_of(fitted.users, fitted.user_known, ids, "user", unknown)
        return self._at_rows([str(id_text(each)) for each in ids], rows)

    def _at_rows(self, ids: list[str], rows: Rows) -> Askers:
        fitted = self.fitted_
        return Askers(ids, rows, fitted.training.rows, lambda part, lower: fitted.of_users(rows[part], lower), rows)

    def _guests(self, observations: Observations) -> Askers:
        """Return guests and what they rated."""
        known = known_part(self.fitted_, observations.rescaled(self.scale_))
        view, ids = placing.view_of(self.fitted_, known, "users"), observations.users.ids.tolist()
        return Askers(ids, np.arange(len(ids)), view, self._said_of(view, self._new_thetas(view)))

    @abstractmethod
    def _said_of(self, view: View, theta: Floats) -> Said:
        """Return a function from a part of new users, with their observations and thetas, to what is predicted."""

    @abstractmethod
    def _new_thetas(self, view: View) -> Floats:
        """Return thetas that predict for rows of observations whose partners are the model's items."""

    def similar_items(self, item: Any, n: int = 10) -> Any:
        """Return the items most like one of them, which is given by its id or its title, as a data frame.

        Its columns are item, title where there are titles, similarity, which is the population's probability of both
        items over that of either, and count (observations of the item).
        """
        return to_frame(self._similar_columns(item, n))

    def _similar_columns(self, item: Any, n: int) -> dict[str, NDArray[Any]]:
        """Return the columns of `similar_items`."""
        check_is_fitted(self)
        check_asked("similar_items", n=n)
        fitted = self.fitted_
        item = id_of(fitted.items, item, "item")
        row = int(fitted.items.encode([item], "item")[0])
        if row < 0 or not fitted.item_known[row]:
            raise no_data(fitted.items, item, "item")
        likeness, counts = fitted.similar_to(row), fitted.item_counts
        itself = View(np.array([0, 1]), np.array([row], dtype=np.int32), np.ones(1), np.empty(0))
        rows = best(likeness[None], np.zeros(1, dtype=np.int64), itself, counts, n, least_count(counts, n))[0]
        columns = as_columns(fitted, rows, likeness[rows])
        kept = {name: column for name, column in columns.items() if name in ("item", "title")}
        return {**kept, "similarity": likeness[rows], "count": columns["count"]}

    # --- going on to learn ----------------------------------------------------------------------------------------

    def update(
        self, observations: Any = None, *, users: Any = None, items: Any = None, remove: Any = None, forget: Any = None
    ) -> Self:
        """Go on learning: take in new ratings, correct some, remove some.

        Users and items whose entries have changed are learned again given all others, and new ones are placed. Once a
        hundredth of the ratings have changed, in this update and those since the last time, chains start from a
        `KolmogorovModel` of ratings and go over the whole table, and the model moves to what they say. Draws are made
        again over the whole table, by chains that start from the last draws; a line says so. Of a `ListModel` the links
        are those of the new table, with the settings that `fit` chose. Everything is computed on threads, and before
        anything is replaced: an update that is interrupted leaves the model as it was. One that changes no rating
        changes no bit, and with an integer `random_state` the same update of the same model gives the same bits.

        Parameters
        ----------
        observations : Observations, optional
            Ratings of known or new users and items, which fit into the scale of the model. One of a user and an item
            that the model has a rating of takes the place of that rating.
        users, items : data frame or path, optional
            Attributes of new users and items, one row for each, for a model that was fitted with attributes. Who and
            what has no ratings is placed by them; those with ratings in `observations` begin there.
        remove : sequence of (user, item), data frame or Observations, optional
            Ratings to take out, before `observations` are put in. A user or an item that loses its last rating leaves
            the model, with its id.
        forget : sequence of ids, optional
            Users all of whose ratings are taken out, and who leave the model.
        """
        check_is_fitted(self)
        if observations is not None and not isinstance(observations, Observations):
            raise DataError(f"update takes Observations, got {type(observations).__name__}.")
        fitted, new = self.fitted_, (self._described(users, "users"), self._described(items, "items"))
        if any(side is not None for side in new):
            fitted = self._introduced(fitted, *new)
        pairs = None if remove is None else pairs_of(remove)
        leaving = None if forget is None else [forget] if np.ndim(forget) == 0 else list(forget)
        change, missing = changed(fitted.training, observations, pairs, leaving)
        if missing:
            count = "1 rating or user" if missing == 1 else f"{missing:,} ratings or users"
            warn(f"{count} to remove: the model has no such rating. The others are removed.", UnknownIdWarning)
        if not change.is_empty:
            check_trainable(change.after, only_yes=self._is_only_yes)
            fitted = self._moved(fitted, change)
            # Names of columns that scikit-learn noted at `fit` are no longer those of the items.
            self.__dict__.pop("feature_names_in_", None)
        return self if fitted is self.fitted_ else self._adopt(fitted)

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
        raise NotImplementedError

    @abstractmethod
    def _moved(self, fitted: Any, change: Change) -> Any:
        """Return what was learned after a change of its table."""

    # --- read ------------------------------------------------------------------------------------------------------

    def events(self, n_items: int = 10, n_users: int = 5) -> Events:
        """Describe each elementary event by its share, by what its people like more, and by who is most in it."""
        from kolmogorov.interpret.events import EventItems

        check_is_fitted(self)
        return EventItems(self._one_model).events(n_items, n_users=n_users)

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        observations: Observations | None = None,
        *,
        progress: Any = None,
        **options: Any,
    ) -> Page | None:
        """Write one HTML file in which to explore the model; it opens from disk and needs no network.

        Parameters
        ----------
        path : path, optional
            Without one the page is returned, which a notebook shows in its place.
        observations : Observations, optional
            Those that the model was not trained on are used to test it and to count its rules; without any, the
            settings are fitted again to a part of the training data, and rules are counted on all of it.
        progress : callable, optional
            Called with a few words before each part of the work; by default people at a terminal see them.
        **options
            `title`, `subtitle` (by default the name of the data and the date); `likes`, the least value that means yes,
            on the probability scale; `image`, (height, width) where items are the pixels of pictures, or users;
            `max_users`, of whom most is known (10,000); `nouns`, what a user and an item are: ("animal", "trait").
        """
        from kolmogorov.report import Options, Page, gather, gather_lists, render

        check_is_fitted(self)
        given = (self, observations, Options(**options), progress)
        lists = self.fitted_.has_scores
        page = Page(render(gather_lists(*given), "lists.js") if lists else render(gather(*given)))
        if path is None:
            return page
        page.write(path)
        return None

    def _repr_html_(self) -> str:
        from kolmogorov.interpret.events import summary

        if not hasattr(self, "fitted_"):
            parameters: str = super()._repr_html_()
            return parameters
        return summary(type(self).__name__, self._one_model, repr(self))

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    # --- a fit, files and learned attributes ----------------------------------------------------------------------

    def _on_sweep(self, sweep: Sweep) -> bool:
        seconds = sweep.user_seconds + sweep.item_seconds
        place = f"sweep {sweep.sweep:3d}  objective {sweep.objective:.6g}  rmse {sweep.rmse:.4f}"
        return self._told(f"{place}  {seconds:.3f} s", sweep)

    def _told(self, line: str, progress: Any, *, whole: bool = True) -> bool:
        """Tell how far a fit is: the callback, which may end it, or whoever watches; `verbose` writes `whole` lines."""
        if self.verbose and whole:
            passing("")
            sys.stderr.write(f"{line}\n")
        elif self.callback is None:
            passing(line)
        return self.callback is not None and says_stop(self.callback(progress))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, ids included, to be read by `kolmogorov.load`."""
        check_is_fitted(self)
        options = {name: value for name, value in self.get_params(deep=False).items() if name not in NOT_STORED}
        parameters = {name: _plain(value) for name, value in options.items()}
        meta, arrays = self.fitted_.stored()
        write(path, type(self).__name__, {"library": _version.__version__, "parameters": parameters, **meta}, arrays)

    def with_titles(self, items: Any = None, users: Any = None) -> Self:
        """Return a copy whose items or users are called something, as in `Observations.with_titles`."""
        check_is_fitted(self)
        training = self.fitted_.training.with_titles(items, users)
        return copy(self)._adopt(self.fitted_.with_training(training))

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = tags.input_tags.positive_only = True
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
    return value.item() if isinstance(value, np.generic) else value
