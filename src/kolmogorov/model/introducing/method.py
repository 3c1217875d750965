"""New users and items, introduced to a model by their attributes alone."""

from __future__ import annotations

from copy import copy
from functools import singledispatch
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from kolmogorov.data.attributes.reading import Newcomers, described
from kolmogorov.data.attributes.sheets import Side, is_frame
from kolmogorov.errors import DataError
from kolmogorov.fitted.point import Fitted
from kolmogorov.fitted.posterior import Posterior
from kolmogorov.fitting.distillation import attributes
from kolmogorov.model.distilling import placing_solvers
from kolmogorov.sampling import placement
from kolmogorov.surface.ids import Unknown
from kolmogorov.surface.recommender import Output, Rank, Recommender


class Introducing(Recommender):
    """Adds `introduce` to models, and frames in the place of ids."""

    fitted_: Any

    def introduce(self, *, users: Any = None, items: Any = None) -> Self:
        """Return a model that also knows new users and items, by their attributes alone.

        Parameters
        ----------
        users, items : data frame or path, optional
            One row for each, with the columns that `fit` was given, or some of them. Ids that have ratings are left as
            they are.

        Examples
        --------
        >>> import kolmogorov as km, pandas as pd
        >>> zoo = km.datasets.load("zoo")
        >>> size = pd.DataFrame({"user": zoo.users.ids, "length": [len(name) for name in zoo.users.ids]})
        >>> model = km.KolmogorovModel(5, random_state=0).fit(zoo, users=size)
        >>> new = pd.DataFrame({"user": ["griffin", "ox"], "length": [7, 2]})
        >>> model.introduce(users=new).predict(["griffin", "ox"], "milk").shape
        (2,)
        """
        check_is_fitted(self)
        return self._knowing(self._described(users, "users"), self._described(items, "items"))

    def _met(self, users: Any, items: Any) -> tuple[Self, Any, Any]:
        """Introduce frames in the place of ids, where both sides are given; return who knows them, and their ids.

        Without frames that is this model itself, and what was asked.
        """
        check_is_fitted(self)
        if items is None or not (is_frame(users) or is_frame(items)):
            return self, users, items
        new_users = self._described(users, "users") if is_frame(users) else None
        new_items = self._described(items, "items") if is_frame(items) else None
        users = users if new_users is None else new_users.ids.ids[new_users.order]
        items = items if new_items is None else new_items.ids.ids[new_items.order]
        return self._knowing(new_users, new_items), users, items

    def _knowing(self, users: Newcomers | None, items: Newcomers | None) -> Self:
        return copy(self)._adopt(_introduced(self.fitted_, self, users, items))

    def _described(self, raw: Any, side: Side) -> Newcomers | None:
        """Return what a frame says of new rows; None where there is none."""
        if raw is None:
            return None
        known = self.fitted_.user_attributes if side == "users" else self.fitted_.item_attributes
        if known is None:
            raise DataError(f"The model knows no attributes of {side}. Fit it with them: fit(X, {side}=frame).")
        return described(raw, known.columns, side)

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
            of its rows: see `introduce`.
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
            argument, the completed table of shape (n_rows, n_items).
        """
        model, users, items = self._met(users, items)
        return super(Introducing, model).predict(users, items, output=output, unknown=unknown)

    def recommend(
        self,
        users: Any = None,
        n: int = 10,
        *,
        items: Any = None,
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
        users : id, array-like of ids, Observations, or data frame
            Observations are those of guests, whom the model places first (`fold_in`). A data frame introduces new users
            by their attributes: see `introduce`.
        n : int
        items : data frame or path, optional
            New items, which may be listed, too, by their attributes.
        guest, theta, exclude_seen, rank, unknown
            As for every model: ratings of one guest by items, as ``{"Alien": 5, "Heat": 2}``; what `fold_in` returned;
            whether to leave out what the user was observed with; whether to order by the probability or by what nine
            draws in ten exceed; what to do about an unknown user.
        min_count : int, optional
            Leave out items observed fewer times; by default 5, or less where that leaves little to choose from. Items
            that are placed by attributes alone are listed unless it is given.

        Returns
        -------
        DataFrame
            Columns item, title where there are titles, probability, rating and count (observations of the item, 0 of a
            new one); for several users a column user before them.
        """
        options: dict[str, Any] = {"guest": guest, "theta": theta, "exclude_seen": exclude_seen}
        options |= {"min_count": min_count, "rank": rank, "unknown": unknown}
        if items is None and not is_frame(users):
            return super().recommend(users, n, **options)
        check_is_fitted(self)
        new = self._described(users, "users") if is_frame(users) else None
        model = self._knowing(new, self._described(items, "items"))
        return model.recommend(users if new is None else new.ids.ids[new.order], n, **options)


@singledispatch
def _introduced(fitted: Any, model: Any, users: Newcomers | None, items: Newcomers | None) -> Any:
    """Return what was learned with users and items that there are only attributes of."""
    raise DataError(f"{type(model).__name__} knows no attributes.")


@_introduced.register
def _(fitted: Posterior, model: Any, users: Newcomers | None, items: Newcomers | None) -> Posterior:
    return placement.introduced(fitted, users, items)


@_introduced.register
def _(fitted: Fitted, model: Any, users: Newcomers | None, items: Newcomers | None) -> Fitted:
    return attributes.introduced(fitted, users, items, placing_solvers(model, fitted))
