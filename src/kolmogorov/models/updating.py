"""The method `update` of models that go on learning."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kolmogorov._support.progress import warn
from kolmogorov._support.seeds import base_seed
from kolmogorov.data.changes import Change, changed
from kolmogorov.data.observations import Observations, check_trainable
from kolmogorov.errors import DataError, UnknownIdWarning
from kolmogorov.models.ids import pair_frame


class Updating:
    """Adds `update` to a model."""

    fitted_: Any
    #: Returns what was learned after a change of its table.
    _moved: Callable[[Any, Change], Any]

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
            Attributes of new users and items, for a model that was fitted with attributes: see `introduce`. Those with
            ratings in `observations` begin where their attributes place them.
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
        fitted = self.fitted_ if users is None and items is None else self._introduced(users, items)
        pairs = None if remove is None else _pairs(remove)
        users = None if forget is None else _list_of(forget)
        change, missing = changed(fitted.training, observations, pairs, users)
        if missing:
            count = "1 rating or user" if missing == 1 else f"{missing:,} ratings or users"
            warn(f"{count} to remove: the model has no such rating. The others are removed.", UnknownIdWarning)
        if change.is_empty:
            return self if fitted is self.fitted_ else self._adopt(fitted)  # type: ignore[attr-defined,no-any-return]
        check_trainable(change.after, only_yes=bool(getattr(self, "_is_only_yes", False)))
        adopted: Self = self._adopt(self._moved(fitted, change))  # type: ignore[attr-defined]
        # Names of columns that scikit-learn noted at `fit` are no longer those of the items.
        vars(self).pop("feature_names_in_", None)
        return adopted

    def _introduced(self, users: Any, items: Any) -> Any:
        """Return what was learned, with new users and items placed by their attributes."""
        if not hasattr(self, "introduce"):
            raise DataError(f"{type(self).__name__} knows no attributes; 'users' and 'items' go with models of events.")
        return self.introduce(users=users, items=items).fitted_


def _pairs(given: Any) -> tuple[Any, Any]:
    """Return the users and the items of pairs."""
    if isinstance(given, Observations):
        return given.users.ids[given.user_rows()], given.items.ids[given.item_rows()]
    frame = pair_frame(given)
    if frame is not None:
        return frame.users, frame.items
    listed = list(given) if np.iterable(given) and not isinstance(given, (str, bytes, dict)) else None
    if listed is None or any(isinstance(pair, (str, bytes)) or not np.iterable(pair) for pair in listed):
        raise DataError("'remove' must be pairs of a user and an item, such as [('ann', 'tea')].")
    pairs = [tuple(pair) for pair in listed]
    if any(len(pair) != 2 for pair in pairs):
        raise DataError("'remove' must be pairs of a user and an item, such as [('ann', 'tea')].")
    return [user for user, _ in pairs], [item for _, item in pairs]


def _list_of(given: Any) -> list[Any]:
    """Return ids as a list; a single one is one of its own."""
    return [given] if np.ndim(given) == 0 else list(given)


def seed_for(model: Any, table: Observations) -> int:
    """Return a seed for this table: one update after another must not meet the same random numbers again."""
    text = f"{base_seed(model.random_state)} {table.fingerprint()}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1
