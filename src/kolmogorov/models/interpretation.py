"""The door upwards: methods of a model whose answers are made in the layers above, in `interpret` and `report`.

`model.explain()`, `model.relations()` and `model.report()` belong to the model in the eyes of its user. This file is
the only one below those layers that may import them, and only inside the methods.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from kolmogorov.errors import DataError
from kolmogorov.models.ids import Unknown

if TYPE_CHECKING:
    from kolmogorov.data import Observations
    from kolmogorov.interpret.events import Events
    from kolmogorov.interpret.explanation import Explanation
    from kolmogorov.interpret.plot import Pictures
    from kolmogorov.interpret.relations import Relations
    from kolmogorov.interpret.rules import Rules
    from kolmogorov.report import Page


class Reading:
    """What can be read of every model that has events: these, a page, and a few words in notebooks."""

    fitted_: Any
    _one_model: Any

    def _repr_html_(self) -> str:
        from kolmogorov.interpret.events import summary

        if not hasattr(self, "fitted_"):
            parameters: str = super()._repr_html_()  # type: ignore[misc]
            return parameters
        return summary(type(self).__name__, self._one_model, repr(self))

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        observations: Observations | None = None,
        *,
        title: str | None = None,
        subtitle: str | None = None,
        likes: float | None = None,
        image: tuple[int, int] | None = None,
        max_users: int = 10_000,
        nouns: tuple[str, str] = ("user", "item"),
        progress: Callable[[str], Any] | None = None,
    ) -> Page | None:
        """Write one HTML file in which to explore the model; it opens from disk and needs no network.

        Parameters
        ----------
        path : path, optional
            Without one the page is returned, which a notebook shows in its place.
        observations : Observations, optional
            Those that the model was not trained on are used to test it and to count its rules; without any, the
            settings are fitted again to a part of the training data, and rules are counted on all of it.
        title, subtitle : str, optional
            By default the name of the data (its file's or dataset's) and the date.
        likes : float, optional
            Values of at least this, on the probability scale, mean yes; by default the smallest rating that at most
            about half of the training data reach.
        image : (int, int), optional
            Height and width, where the items are the pixels of pictures, row by row, and the users the pictures; or
            the other way round.
        max_users : int
            Show so many users, those with most observations.
        nouns : (str, str)
            What a user and an item are, such as ("animal", "trait").
        progress : callable, optional
            Called with a few words before each part of the work; by default people at a terminal see them.

        Returns
        -------
        Page or None
            The page, where no path was given.
        """
        from kolmogorov.report import Options

        check_is_fitted(self)
        page = self._page(observations, Options(title, subtitle, likes, image, max_users, nouns), progress)
        if path is None:
            return page
        page.write(path)
        return None

    def _page(self, observations: Any, options: Any, progress: Any) -> Page:
        """Return the page, of the kind that the model has."""
        from kolmogorov.report import Page, gather, render

        return Page(render(gather(self, observations, options, progress)))  # type: ignore[arg-type]

    def events(self, n_items: int = 10, n_users: int = 5) -> Events:
        """Describe each elementary event by its share, by what its people like more, and by who is most in it."""
        from kolmogorov.interpret.events import EventItems

        check_is_fitted(self)
        return EventItems(self._one_model).events(n_items, n_users=n_users)


class Interpretation(Reading):
    """Methods that put a fitted model into words and pictures; draws are read by the one model that stands for them."""

    _has_draws: ClassVar[bool]

    @property
    def plot(self) -> Pictures:
        """Pictures with matplotlib (extra `plot`): events, users, matrix, history, calibration."""
        from kolmogorov.interpret.plot import Pictures

        check_is_fitted(self)
        return Pictures(self.fitted_, self._one_model)

    def explain(self, user: Any, item: Any, *, unknown: Unknown = "error", likes: float | None = None) -> Explanation:
        """Explain what is predicted for `user` and `item`: what everybody would get, and a difference for each event.

        Beside the events stand the supported rules that lead from what the user is known to like (values of at least
        `likes` in the training data) to the item, where they speak for what is predicted. Draws are explained by the
        one model that they are read by; the last difference is what their average says beyond it.

        An id without training observations is an error; with ``unknown="average"`` the average user or item is
        explained in its place, with a warning. Of those whom attributes place, the attributes that moved the prediction
        are named.
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

        Examples
        --------
        >>> import kolmogorov as km, pandas as pd
        >>> zoo = km.datasets.load("zoo")
        >>> size = pd.DataFrame({"user": zoo.users.ids, "length": [len(name) for name in zoo.users.ids]})
        >>> model = km.KolmogorovModel(5, random_state=0).fit(zoo, users=size)
        >>> list(model.event_attributes(sure=False).columns)
        ['event', 'side', 'attribute', 'words', 'effect', 'low', 'high']
        """
        from kolmogorov._support.optional import to_frame
        from kolmogorov.interpret.attributes import attribute_columns

        check_is_fitted(self)
        read = self._one_model
        if read.user_attributes is None and read.item_attributes is None:
            raise DataError("The model knows no attributes. Fit it with them: fit(X, users=frame, items=frame).")
        return to_frame(attribute_columns(read, sure=sure))

    def relations(self, *, likes: float | None = None, min_ratings: int = 1) -> Relations:
        """Read the logical relations between items off their supports, and the paper's adjacency and influence.

        Parameters
        ----------
        likes : float, optional
            Of ratings, values of at least this, on the probability scale, mean yes; by default the smallest rating that
            at most about half of the training data reach. An item of soft psi happens in the events where it is nearer
            to a like than to the rating below.
        min_ratings : int
            Leave out items with fewer training observations.
        """
        from kolmogorov.interpret.relations import Relations

        check_is_fitted(self)
        return Relations(self._one_model, likes=likes, min_ratings=min_ratings)

    def rules(
        self, observations: Observations | None = None, likes: float | None = None, *, max_antecedents: int = 1
    ) -> Rules:
        """Return the rules between items that the model states and that data confirm, strongest first.

        The model states a rule where supports are so related: one lies inside the other, both are equal, apart, or hold
        every event together. The data confirm it if it holds more often than its users' general readiness to say yes
        explains: a test at 5%, corrected for all pairs of items (Benjamini and Hochberg). Listed are those that
        hold at least half of the time, more often than for everybody, in at least 20 cases; of fewer than 200 users in
        a tenth as many cases, and never in fewer than 5. How they fare on other people: ``model.rules().on(test)``.

        Parameters
        ----------
        observations : Observations, optional
            What to test on, by default the data that the model was trained on.
        likes : float, optional
            Values of at least this, on the probability scale, mean yes, as in `relations`.
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


class ListInterpretation(Reading):
    """The same for lists, which links between items make, too."""

    _new_thetas: Callable[[Any], Any]

    def explain(self, user: Any = None, item: Any = None, *, guest: Any = None, unknown: Unknown = "error") -> Any:
        """Explain the score of an item: because of which of the user's items, and because of which events.

        Parameters
        ----------
        user, item : id
            The item may be given by its title. With a guest, only the item is given.
        guest : dict, optional
            Instead of a user: ratings of one guest, as in `recommend`.
        unknown : {"error", "average", "ignore"}
            An id without training observations is an error, or is explained as an average one.

        Returns
        -------
        ListExplanation
            What everybody would get, an amount for each item that the user has and for each event; together they are
            the score.

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

    def _page(self, observations: Any, options: Any, progress: Any) -> Page:
        from kolmogorov.report import Page, gather_lists, render

        return Page(render(gather_lists(self, observations, options, progress), "lists.js"))  # type: ignore[arg-type]
