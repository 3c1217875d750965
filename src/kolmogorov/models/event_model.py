"""What models can do besides whose users are distributions over events: place new rows, tell chances, be read."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kolmogorov._support.outside import to_frame
from kolmogorov._support.threads import one_blas_thread
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import AUTO, BOOLEAN, CALLBACK, NONE, Requirement, instance, integer, real
from kolmogorov.cluster import Dask
from kolmogorov.data import Observations
from kolmogorov.data.observations import dense_of
from kolmogorov.data.scale import LARGEST_WEIGHT
from kolmogorov.data.view import View
from kolmogorov.descent import placing
from kolmogorov.descent.fitted import Fitted
from kolmogorov.draws.sampler import SamplingProgress
from kolmogorov.errors import DataError
from kolmogorov.gpu.cuda import Cuda
from kolmogorov.models.base import Recommender
from kolmogorov.models.ids import Unknown, pair_rows
from kolmogorov.models.ranking import Said
from kolmogorov.models.tables import table_of

if TYPE_CHECKING:
    from kolmogorov.interpret.explanation import Explanation
    from kolmogorov.interpret.plot import Pictures
    from kolmogorov.interpret.relations import Relations
    from kolmogorov.interpret.rules import Rules
    from kolmogorov.models.kolmogorov import KolmogorovModel

#: What is asked of the parameters that all models with events have.
COMMON_RULES: dict[str, Requirement] = {
    "n_events": integer(1) | AUTO,
    "unobserved": real(0.0, LARGEST_WEIGHT) | AUTO,
    "execution": instance(Cuda) | instance(Dask) | NONE,
    "callback": CALLBACK,
    "verbose": BOOLEAN | integer(0),
}


class EventModel(TransformerMixin, Recommender):  # type: ignore[misc]
    """Base of Kolmogorov models, drawn or not. Draws are read by the one model that stands for them."""

    fitted_: Any

    @property
    @abstractmethod
    def _reader(self) -> KolmogorovModel:
        """The model that is read: itself, or of draws the one that stands for them."""

    @property
    def _one_model(self) -> Fitted:
        return self._reader.fitted_

    # --- chances of ratings ---------------------------------------------------------------------------------------

    def predict_distribution(self, users: Any, items: Any = None, *, unknown: Unknown = "average") -> Floats:
        """Return the probability of each rating for pairs of ids: what somebody answers, noise included.

        Pairs are given as to `predict`. Columns are the ratings of `rating_values_`, lowest first; of yes/no data, no
        and yes. Rows sum to 1, and their mean is what `predict` says, unless that lies beyond the ratings.
        """
        check_is_fitted(self)
        rows, single = pair_rows(self.fitted_, users, items, unknown)
        found: Floats = self.fitted_.distribution_at_rows(*rows)
        return found[0] if single else found

    @property
    def rating_values_(self) -> Floats:
        """The ratings that somebody may give, in rating units: the columns of `predict_distribution`."""
        found: Floats = self.fitted_.scale.rating(self.fitted_.points)
        return found

    # --- new rows -------------------------------------------------------------------------------------------------

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
            theta of shape (n_new_users, n_events), or psi of shape (n_new_items, n_events), in the order of their ids
            in `observations`; of draws, in the one model that stands for them. A user without observations gets the
            population's theta.
        """
        check_is_fitted(self)
        if not isinstance(observations, Observations):
            raise DataError(f"fold_in takes Observations, got {type(observations).__name__}.")
        new = placing.side_of(self.fitted_, observations, side)
        view = placing.view_of(self.fitted_, observations.rescaled(self.scale_), new)
        return self._reader._new_thetas(view) if new == "users" else self._reader._new_psis(view)

    def transform(self, X: Any) -> Floats:
        """Return theta for the rows of a table by `fold_in`; columns are the items of `fit`, in their order."""
        check_is_fitted(self)
        return self._reader._new_thetas(placing.view_of(self.fitted_, table_of(self, X, reset=False), "users"))

    def inverse_transform(self, theta: Any) -> Floats:
        """Return ratings of all items for given thetas, in the units of the data: an array of shape (n, n_items)."""
        check_is_fitted(self)
        rows, read = dense_of(theta), self._one_model
        if rows.shape[1] != read.n_events or not np.isfinite(rows).all():
            raise DataError(f"theta must have finite numbers and shape (n, {read.n_events}), got {rows.shape}.")
        with one_blas_thread():
            found: Floats = self.scale_.rating(read.of_thetas(rows))
        return found

    def _completed(self, X: Any) -> Floats:
        view = placing.view_of(self.fitted_, table_of(self, X, reset=False), "users")
        with one_blas_thread():
            found: Floats = self.fitted_.of_thetas(self._new_thetas(view))
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
        return -self.scale_.span * float(np.sqrt(np.mean(errors**2)))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of `transform`: event0, event1, ..."""
        check_is_fitted(self)
        return np.array([f"event{d}" for d in range(self._one_model.n_events)], dtype=object)

    # --- read; what is said is made in the floors above -----------------------------------------------------------

    @property
    def plot(self) -> Pictures:
        """Pictures with matplotlib (extra `plot`): events, users, matrix."""
        from kolmogorov.interpret.plot import Pictures

        check_is_fitted(self)
        return Pictures(self._one_model)

    def explain(self, user: Any, item: Any, *, unknown: Unknown = "average", likes: float | None = None) -> Explanation:
        """Explain what is predicted for `user` and `item`: what everybody would get, and a difference for each event.

        Beside the events stand the supported rules that lead from what the user is known to like (values of at least
        `likes` in the training data) to the item, where they speak for what is predicted. Draws are explained by the
        one model that they are read by; the last difference is what their average says beyond it. Unknown ids are the
        average, as in `predict`. Of those whom attributes place, the attributes that moved the prediction are named.
        """
        from kolmogorov.interpret.explanation import explain

        check_is_fitted(self)
        return explain(self.fitted_, self._one_model, user, item, unknown, likes)

    def event_attributes(self, *, sure: bool = True) -> Any:
        """Return what attributes mean for events, as a data frame; for models that were fitted with attributes.

        Its columns are event, side, attribute, words ("more War (genres)", "lower age"), effect, low and high, which
        hold the middle 90% of what the draws say; with `sure` those are left out that hold 0. Of users the effect is
        how much larger the event's share is of those who have the attribute; of items how much more the event's people
        expect of those that have it than everybody does, on the scale from 0 to 1. A category is compared with the
        others of its column, a number with one that is smaller by a standard deviation.
        """
        from kolmogorov.interpret.attributes import attribute_columns

        check_is_fitted(self)
        read = self._one_model
        if read.user_attributes is None and read.item_attributes is None:
            raise DataError("The model knows no attributes. Fit it with them: fit(X, users=frame, items=frame).")
        return to_frame(attribute_columns(read, sure=sure))

    def relations(self, *, likes: float | None = None, min_ratings: int = 1) -> Relations:
        """Read the logical relations between items off their supports, and the paper's adjacency and influence.

        Of ratings, values of at least `likes`, on the probability scale, mean yes; by default the smallest rating that
        at most about half of the training data reach. An item of soft psi happens in the events where it is nearer to a
        like than to the rating below. Items with fewer than `min_ratings` training observations are left out.
        """
        from kolmogorov.interpret.relations import Relations

        check_is_fitted(self)
        return Relations(self._one_model, likes=likes, min_ratings=min_ratings)

    def rules(
        self, observations: Observations | None = None, likes: float | None = None, *, max_antecedents: int = 1
    ) -> Rules:
        """Return the rules between items that the model states and that data confirm, strongest first.

        The model states "who likes j likes i" where those who are likely to like j are more likely than everybody to
        like i, by what it predicts: mean(p_j p_i) > mean(p_j) mean(p_i) over the users. The data confirm it if the two
        go together more than their users' general readiness to say yes explains: a test at 5%, corrected for all pairs
        of items (Benjamini and Hochberg). Listed are those that hold at least half of the time, more often than for
        everybody, in at least 20 cases; of fewer than 200 users in a tenth as many, and never in fewer than 5.
        Exclusions ("... does not like i") and coverages ("who does not like j ...") are found in the same way. How
        rules fare on other people: ``model.rules().on(test)``.

        Parameters
        ----------
        observations : Observations, optional
            What to test on, by default the data that the model was trained on.
        likes : float, optional
            As in `relations`.
        max_antecedents : int
            Up to 3: also rules "A and B ⇒ C" in which every antecedent adds something to what the others say. Each
            holds more often than the confirmed rules that it contains.

        Examples
        --------
        >>> import kolmogorov as km
        >>> rules = km.KolmogorovModel(5, random_state=0).fit(km.datasets.load("zoo")).rules()
        >>> print(rules[0])
        Who says yes to fins says yes to aquatic: 17 of 17; of everybody 36%.
        """
        return self.relations(likes=likes).rules(observations, max_antecedents=max_antecedents)

    # --- inside ---------------------------------------------------------------------------------------------------

    def _said_of(self, view: View, theta: Floats) -> Said:
        return lambda part, lower: self.fitted_.of_thetas(theta[part], lower)

    def _on_draw(self, draw: SamplingProgress) -> bool:
        line = f"chain {draw.chain + 1}/{draw.n_chains}  sweep {draw.sweep}/{draw.n_sweeps}"
        return self._told(line, draw, whole=draw.sweep == draw.n_sweeps)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags
