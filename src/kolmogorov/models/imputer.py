"""`KolmogorovImputer`: tables of numbers with gaps, completed by draws of a model over columns on one scale."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import FLOAT_DTYPES, check_is_fitted, validate_data

from kolmogorov._support.seeds import base_seed
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import AUTO, Requirement, check_parameters, integer, one_of
from kolmogorov.data.observations import Observations
from kolmogorov.descent.placing import view_of
from kolmogorov.draws.new_rows import new_psis
from kolmogorov.errors import DataError
from kolmogorov.models.bayesian import BayesianKolmogorovModel

#: A column of which at most so many numbers are known, each seen so often on average, is one of grades. By judgement.
_FEW, _OFTEN = 10, 3


@dataclass(frozen=True, eq=False)
class _Scale:
    """How the numbers of a column lie between 0 and 1: numbers that are known, increasing, and their places."""

    numbers: Floats
    places: Floats
    graded: bool

    @classmethod
    def of(cls, known: Floats) -> Self:
        """Choose a scale by what is known: grades lie between their ends, others by their normal quantiles."""
        numbers, counts = np.unique(known.astype(np.float64), return_counts=True)
        if numbers.size < 2:
            return cls(numbers if numbers.size else np.zeros(1), np.full(1, 0.5), True)
        if numbers.size <= _FEW and known.size >= _OFTEN * numbers.size:
            return cls(numbers, (numbers - numbers[0]) / (numbers[-1] - numbers[0]), True)
        # Ranks, ties in their middle.
        quantiles = ndtri((np.cumsum(counts) - 0.5 * counts) / known.size)
        return cls(numbers, 0.5 + quantiles / (2.0 * max(-quantiles[0], quantiles[-1])), False)

    def places_of(self, column: Floats) -> Floats:
        """Return the places of numbers; NaN where there is none."""
        return np.interp(column, self.numbers, self.places)

    def numbers_at(self, places: Floats, *, nearest: bool) -> Floats:
        """Return the numbers at some places, of grades if wanted the nearest that is known."""
        if nearest and self.graded:
            return self.numbers[np.searchsorted(0.5 * (self.places[1:] + self.places[:-1]), places)]
        return np.interp(places, self.places, self.numbers)

    def drawn(self, said: Floats, noise: Floats, chance: Floats) -> Floats:
        """Return numbers around some places: of two with the chance that is said, of other grades the nearest."""
        if self.graded and self.numbers.size == 2:
            return self.numbers[(chance < said).astype(np.int64)]
        return self.numbers_at(said + noise, nearest=True)


class KolmogorovImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Complete a table of numbers whose columns are on scales of their own, by draws of a Kolmogorov model.

    Yes and no, and grades, lie between the ends of their column; other numbers by their quantiles, so that they look
    normal. The columns are then the users of a `BayesianKolmogorovModel`, each with noise of its own, and the rows its
    items. Rows that come later are placed by what is known of them.

    Parameters
    ----------
    n_events : int or "auto"
        Of each draw.
    fill : {"mean", "value"}
        What a missing grade, or yes or no, is filled with: the mean, or the known number that is nearest to it. Grades
        are columns with at most ten different numbers, each seen three times on average.
    n_chains, burn_in, n_samples : int
        As in `BayesianKolmogorovModel`.
    random_state : int, Generator or None
        The same integer gives the same bits on any number of threads.
    n_jobs : int or None
        Threads; -1 for all processors, None for one.

    Attributes
    ----------
    model_ : BayesianKolmogorovModel

    Examples
    --------
    >>> import numpy as np
    >>> import kolmogorov as km
    >>> rng = np.random.default_rng(0)
    >>> size = rng.normal(170, 10, 60)
    >>> table = np.column_stack([size, size - 100 + rng.normal(0, 2, 60), size / 2 + rng.normal(0, 1, 60)])
    >>> table[0] = 180, np.nan, np.nan
    >>> bool(np.abs(km.KolmogorovImputer(random_state=0).fit_transform(table)[0] - (180, 80, 90)).max() < 5)
    True
    """

    _rules: ClassVar[dict[str, Requirement]] = {"n_events": integer(1) | AUTO, "fill": one_of(("mean", "value"))}

    def __init__(
        self,
        n_events: int | Literal["auto"] = "auto",
        *,
        fill: Literal["mean", "value"] = "mean",
        n_chains: int = 4,
        burn_in: int = 100,
        n_samples: int = 20,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.n_events = n_events
        self.fill = fill
        self.n_chains = n_chains
        self.burn_in = burn_in
        self.n_samples = n_samples
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: None = None) -> Self:
        """Learn from a table of numbers, an array or a data frame, what its columns say of each other.

        NaN is missing. A column of which nothing is known is filled with 0.
        """
        check_parameters(type(self).__name__, {name: getattr(self, name) for name in self._rules}, self._rules)
        table = self._table(X, reset=True)
        if np.isnan(table).all():
            raise DataError("The table holds no number to learn from: all of it is missing.")
        self._table_ = table
        self._scales = [_Scale.of(column[~np.isnan(column)]) for column in table.T]
        self._seed = base_seed(self.random_state)
        options = {name: value for name, value in self.get_params().items() if name != "fill"}
        model = BayesianKolmogorovModel(**options | {"likelihood": "gaussian", "random_state": self._seed})
        self.model_ = model.fit(self._scaled(table))
        return self

    def transform(self, X: Any) -> Any:
        """Return a table of the same columns, whose rows may be new, with what is expected of its missing numbers."""
        check_is_fitted(self)
        table = self._table(X, reset=False)
        posterior: Any = self.model_.posterior_
        psi = new_psis(posterior, view_of(posterior, self._scaled(table), "items"))
        theta = np.concatenate(posterior.theta, axis=1).astype(np.float64) / posterior.n_draws
        filled, said, holes = table.copy(), psi @ theta.T, np.isnan(table)
        for scale, at, places, column in zip(self._scales, holes.T, said.T, filled.T, strict=True):
            column[at] = scale.numbers_at(places[at], nearest=self.fill == "value")
        return filled

    def imputations(self, n_imputations: int = 20, *, random_state: Any = None) -> Floats:
        """Return the table of `fit` completed several times, each by another draw, with noise.

        What differs between them is not known: whatever is computed of the table, compute it of each.

        Parameters
        ----------
        n_imputations : int
        random_state : int, Generator or None
            By default that of the fit.

        Returns
        -------
        array of shape (n_imputations, n_rows, n_columns)

        Examples
        --------
        >>> import numpy as np
        >>> import kolmogorov as km
        >>> table = [[1, 10], [2, 21], [3, 29], [4, 41], [5, np.nan]]
        >>> tables = km.KolmogorovImputer(burn_in=20, n_samples=5, random_state=0).fit(table).imputations(3)
        >>> tables.shape, bool((tables[:, 0] == (1, 10)).all())
        ((3, 5, 2), True)
        """
        check_is_fitted(self)
        check_parameters("imputations", {"n_imputations": n_imputations}, {"n_imputations": integer(1)})
        rng = np.random.default_rng([self._seed if random_state is None else base_seed(random_state), 1])
        posterior, n = self.model_.posterior_, self.model_.posterior_.n_draws
        rounds = [rng.permutation(n) for _ in range(-(-n_imputations // n))]
        found, holes = np.repeat(self._table_[None].astype(np.float64), n_imputations, axis=0), np.isnan(self._table_)
        for filled, k in zip(found, np.concatenate(rounds), strict=False):
            said = posterior.psi[k].astype(np.float64) @ posterior.theta[k].T.astype(np.float64)
            noise = np.sqrt(posterior.noise[k]) * rng.standard_normal(said.shape)
            chance = rng.random(said.shape)
            for j, scale in enumerate(self._scales):
                at = holes[:, j]
                filled[at, j] = scale.drawn(said[at, j], noise[at, j], chance[at, j])
        return found

    def _scaled(self, table: Floats) -> Observations:
        """Return the table on one scale, its columns as users and its rows as items."""
        columns = [scale.places_of(column) for scale, column in zip(self._scales, table.T, strict=True)]
        return Observations.from_dense(np.array(columns), minimum=0.0, maximum=1.0)

    def _table(self, X: Any, *, reset: bool) -> NDArray[Any]:
        """Return what `fit` (with `reset`) and `transform` were given."""
        try:
            found: NDArray[Any] = validate_data(
                self, X, reset=reset, dtype=FLOAT_DTYPES, ensure_all_finite="allow-nan", ensure_min_samples=1
            )
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            raise DataError(
                f"The table must hold numbers, but {error}. Make a column of yes and no of each word, as "
                "sklearn.preprocessing.OneHotEncoder does."
            ) from None
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
