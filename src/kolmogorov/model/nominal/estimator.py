"""`NominalModel`: what people answer, where answers are categories without order."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kolmogorov._support.optional import to_frame
from kolmogorov._support.seeds import base_seed
from kolmogorov._support.threads import one_blas_thread
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import Boolean, check_parameters
from kolmogorov.data.answers import AnswerTable
from kolmogorov.errors import DataError
from kolmogorov.execution import Threads
from kolmogorov.model.nominal.categories import Categories
from kolmogorov.model.nominal.chains import ChainEstimator
from kolmogorov.model.nominal.files import stored
from kolmogorov.model.nominal.likeness import like
from kolmogorov.sampling.nominal import Answers, NominalDraws, nominal_draws
from kolmogorov.surface.saving import write_model

#: Events for 5,000 answers where the number is left open, how it grows with the answers, and between which numbers it
#: stays. By judgement.
_EVENTS, _GROWTH, _FEWEST, _MOST = 8.0, 0.3, 4, 24


class NominalModel(ChainEstimator):
    """Draw models of a table of answers without order, and predict the chance of each answer with their average.

    Each item has categories of its own. In an event, every category of an item has a chance; a row's answers say how
    probable each event is for it. So Pr(X[u, i] = a) = theta_u · psi_ia, with a psi for each category.

    Parameters
    ----------
    n_events : int or "auto"
        Of each draw; "auto" takes 8 for 5,000 answers, 16 for 50,000, and at most 24. Draws leave events that they do
        not need to nobody, so that more do little harm.
    n_chains : int
        Independent chains, started apart.
    burn_in : int
        Sweeps at the start of each chain that are not kept.
    n_samples : int
        Draws kept of each chain.
    random_state : int, Generator or None
        The same integer gives the same bits on any number of threads.
    n_jobs : int or None
        Threads; -1 for all processors, None for one.

    Attributes
    ----------
    categories_ : dict
        The categories of each item, by its name, or by its place where the table has no names. They are in order where
        they have one.
    draws_ : NominalDraws

    Examples
    --------
    >>> import kolmogorov as km
    >>> table = [["tea", "train", "cat"], ["coffee", "car", "dog"]] * 20 + [["tea", None, None]]
    >>> model = km.NominalModel(random_state=0).fit(table)
    >>> model.categories_[1]
    ['car', 'train']
    >>> model.predict(table)[-1].tolist()
    ['tea', 'train', 'cat']
    >>> chances = model.predict_distribution(table, 1)
    >>> chances.shape, bool(chances[-1, 1] > 0.9)
    ((41, 2), True)
    """

    def fit(self, X: Any, y: None = None) -> Self:
        """Draw models given a table.

        Parameters
        ----------
        X : data frame, array or list of rows, or AnswerTable
            A row for each person, a column for each item. Answers are words, numbers or the like; None and nan are
            missing. `read_answers` reads such a table from a file, also where it lists users, items and answers.
        y : None
            Ignored.
        """
        self._check_parameters()
        table = AnswerTable.of(X)
        known = Categories.of(table)
        answers = known.codes(table)
        n_events = event_count(int((answers >= 0).sum())) if self.n_events == "auto" else int(self.n_events)
        with one_blas_thread(), Threads(self.n_jobs) as dealer:
            seed = base_seed(self.random_state)
            draws = nominal_draws(answers, known.widths, (n_events, *self._lengths), seed, dealer)
        return self._adopt(known, draws, dict(table.recipe))

    def predict_distribution(self, X: Any, item: Any = None, *, as_frame: bool = False) -> Any:
        """Return the probability of each answer to an item, given what the rows of a table answer to the others.

        Parameters
        ----------
        X : data frame, array or list of rows, or AnswerTable
            With the columns of the fit, those of a frame in any order; rows may be new. What a row answers to the item
            itself is not looked at, and an answer that nobody gave at the fit counts as missing.
        item : name or place of a column, optional
            None takes all items.
        as_frame : bool
            Return a data frame with a column for each category, named by it.

        Returns
        -------
        ndarray of shape (n_rows, n_categories), or DataFrame
            Columns are `categories_[item]`. Rows sum to 1. For all items a dict of these, by item.
        """
        check_is_fitted(self)
        check_parameters("predict_distribution", {"as_frame": as_frame}, {"as_frame": Boolean()})
        names = self._known.names if item is None else [item]
        places = [self._known.place(name) for name in names]
        found: dict[Any, Any] = dict(zip(names, self._said(self._codes(X), places), strict=True))
        if as_frame:
            found = {name: to_frame(_by_label(self.categories_[name], chances)) for name, chances in found.items()}
        return found if item is None else found[item]

    def predict(self, X: Any) -> Any:
        """Return a table with its missing answers filled in by the likeliest ones.

        Parameters
        ----------
        X : data frame, array or list of rows, or AnswerTable
            With the columns of the fit, those of a frame in any order; rows may be new.

        Returns
        -------
        data frame of the kind that was given, or array of objects
            Columns are in the order of `X`; those of a categorical type keep it.
        """
        check_is_fitted(self)
        table = self._known.table(X)
        filled = [list(column) for column in table.answers]
        answers = self._known.codes(table)
        gaps = np.array([[label is None for label in column] for column in filled]).T
        items = np.flatnonzero(gaps.any(axis=0)).tolist()
        for i, found in zip(items, self._said(answers, items), strict=True):
            likeliest = found.argmax(axis=1)
            for row in np.flatnonzero(gaps[:, i]):
                filled[i][row] = self._known.categories[i][likeliest[row]]
        return like(X, replace(table, answers=filled))

    def score(self, X: Any, y: None = None) -> float:
        """Return minus the log loss of the answers of a table, each given the others of its row; larger is better."""
        check_is_fitted(self)
        answers = self._codes(X)
        said = self._said(answers, range(answers.shape[1]))
        logs = [np.log(chances[own >= 0, own[own >= 0]]) for chances, own in zip(said, answers.T, strict=True)]
        each = np.concatenate(logs)
        if not each.size:
            raise DataError("The table has no answers to compare with.")
        return float(each.mean())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, to be read by `kolmogorov.load`.

        Examples
        --------
        >>> import os, tempfile, kolmogorov as km
        >>> table = [["tea", "train"], ["coffee", "car"]] * 20
        >>> model = km.NominalModel(burn_in=20, n_samples=5, random_state=0).fit(table)
        >>> path = os.path.join(tempfile.mkdtemp(), "survey.km")
        >>> model.save(path)
        >>> bool((km.load(path).predict_distribution(table, 1) == model.predict_distribution(table, 1)).all())
        True
        """
        check_is_fitted(self)
        write_model(self, path, *stored(self._known, self.draws_, self._recipe))

    def _adopt(self, known: Categories, draws: NominalDraws, recipe: dict[str, Any]) -> Self:
        """Take what a fit, or a file, gives."""
        self._known, self.draws_, self._recipe = known, draws, recipe
        self.categories_ = dict(zip(known.names, known.categories, strict=True))
        self.n_features_in_ = len(known.names)
        return self

    def _codes(self, X: Any) -> Answers:
        return self._known.codes(self._known.table(X))

    def _said(self, answers: Answers, items: Any) -> list[Floats]:
        with one_blas_thread():
            return self.draws_.said(answers, items)


def event_count(n_answers: int) -> int:
    """Return how many events so many answers are told by, where the number is left open."""
    return min(max(round(_EVENTS * (n_answers / 5000.0) ** _GROWTH), _FEWEST), _MOST)


def _by_label(labels: list[Any], chances: Floats) -> dict[str, Floats]:
    return {str(label): chances[:, k] for k, label in enumerate(labels)}
