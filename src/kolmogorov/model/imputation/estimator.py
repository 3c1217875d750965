"""`KolmogorovImputer`: a transformer that completes tables of numbers."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.impute import MissingIndicator
from sklearn.utils.validation import FLOAT_DTYPES, check_is_fitted, validate_data

from kolmogorov._support.seeds import base_seed
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import Boolean, Integer, OneOf, Requirement, check_parameters
from kolmogorov._support.wording import named
from kolmogorov.data.table.observations import Observations
from kolmogorov.errors import DataError, ParameterError
from kolmogorov.model.bayesian import BayesianKolmogorovModel
from kolmogorov.model.imputation.cells import Cells
from kolmogorov.model.imputation.chains import ChainEstimator
from kolmogorov.model.imputation.columns import Column, Constant, Fill, Mapping, Nominal, Ordered, chosen, column_of
from kolmogorov.model.imputation.kinds import check_kinds, kinds_of
from kolmogorov.model.imputation.magnitude import mean_of
from kolmogorov.model.imputation.rows import Rows


class KolmogorovImputer(OneToOneFeatureMixin, TransformerMixin, ChainEstimator):
    """Complete a table of numbers: every column is mapped to [0, 1], and draws of models say what is missing.

    The columns are the users of a `BayesianKolmogorovModel` and the rows its items, so that every column has noise of
    its own. Its relations between columns are straight; events of a model of categories, to which numbers are ranges,
    and rows nearby add what these leave, as far as that holds for rows left out. Rows that come later are completed by
    all that.

    Parameters
    ----------
    n_events : int or "auto"
        Of each draw; "auto" learns it from cells that it holds out, and takes at most as many as there are columns.
    missing_values : number or nan
        What stands for a missing number.
    mapping : {"auto", "range", "quantile"}
        How numbers of a column become values from 0 to 1: by its ends, or by its quantiles, so that it looks normal.
        "auto" takes quantiles for columns that are skewed, or that have a few numbers far from the others.
    ordered : "auto", sequence of str or int, or None
        Columns, by name or place, in which only the numbers that are known occur: yes and no, stages, answers of a
        survey. "auto" takes those with at most ten different numbers, each seen three times on average; None takes
        none. What is expected of them is mixed with what a model of categories says, as far as hidden cells are
        filled in better so.
    nominal : sequence of str or int, optional
        Columns whose numbers are categories without order. A missing one is filled by the likeliest, as a
        draws of categories have it, to which the other columns are categories, too: their numbers, or ranges of them.
    fill : {"mean", "value"}
        What a missing number of an ordered column is filled with: the mean, or the known number that is nearest to it.
    sample_posterior : bool
        Fill with one draw instead, noise included: of an ordered column it is one of the known numbers, of others it
        may lie beyond them. Every call of `transform` draws anew; `imputations` draws several at once.
    add_indicator : bool
        Add columns that say what was missing, as `sklearn.impute.MissingIndicator` does.
    keep_empty_features : bool
        Whether columns of which nothing was known at the fit are kept, filled with 0, or left out.
    n_chains, burn_in, n_samples : int
        As in `BayesianKolmogorovModel`.
    random_state : int, Generator or None
        The same integer gives the same bits on any number of threads.
    n_jobs : int or None
        Threads; -1 for all processors, None for one.

    Attributes
    ----------
    model_ : BayesianKolmogorovModel or None
        The draws that fill in numbers: their users are columns, in order, one for each category of a nominal one, and
        their items are rows.
        None where fewer than two columns have different numbers, so that nothing can be learned from one for another,
        and where all are nominal.
    indicator_ : sklearn.impute.MissingIndicator or None
    n_features_in_ : int
    feature_names_in_ : array of str
        Where `fit` was given names.

    Examples
    --------
    >>> import numpy as np
    >>> import kolmogorov as km
    >>> rng = np.random.default_rng(0)
    >>> size = rng.normal(170, 10, 60)
    >>> table = np.column_stack([size, size - 100 + rng.normal(0, 2, 60), size / 2 + rng.normal(0, 1, 60)])
    >>> table[0] = 185, np.nan, np.nan
    >>> np.abs(km.KolmogorovImputer(random_state=0).fit_transform(table)[0] - (185, 85, 92.5)).max() < 4
    np.True_
    """

    _rules: ClassVar[dict[str, Requirement]] = ChainEstimator._rules | {
        "mapping": OneOf(("auto", "range", "quantile")),
        "fill": OneOf(("mean", "value")),
        "sample_posterior": Boolean(),
        "add_indicator": Boolean(),
        "keep_empty_features": Boolean(),
    }

    def __init__(
        self,
        n_events: int | Literal["auto"] = "auto",
        *,
        missing_values: Any = np.nan,
        mapping: Mapping = "auto",
        ordered: Literal["auto"] | Sequence[Any] | None = "auto",
        nominal: Sequence[Any] | None = None,
        fill: Fill = "mean",
        sample_posterior: bool = False,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        n_chains: int = 4,
        burn_in: int = 100,
        n_samples: int = 20,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ) -> None:
        lengths: dict[str, Any] = {"n_chains": n_chains, "burn_in": burn_in, "n_samples": n_samples}
        super().__init__(n_events, **lengths, random_state=random_state, n_jobs=n_jobs)
        self.missing_values = missing_values
        self.mapping = mapping
        self.ordered = ordered
        self.nominal = nominal
        self.fill = fill
        self.sample_posterior = sample_posterior
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features

    def fit(self, X: Any, y: None = None) -> Self:
        """Learn from a table what its columns say of each other.

        Parameters
        ----------
        X : array or data frame of numbers
        y : None
            Ignored.
        """
        self._check_parameters()
        table, _ = self._table(X, reset=True)
        kinds = kinds_of(self.ordered, self.nominal, list(getattr(self, "feature_names_in_", ())), table.shape[1])
        known = ~np.isnan(table)
        self._columns: list[Column | None] = [
            column_of(numbers[there], self.mapping, kind) if there.any() else None
            for numbers, there, kind in zip(table.T, known.T, kinds, strict=True)
        ]
        self.indicator_ = None
        if self.add_indicator:
            self.indicator_ = MissingIndicator(error_on_new=False).fit(table)
        seed = base_seed(self.random_state)
        self._rng = np.random.default_rng([seed, 1])
        self.model_: BayesianKolmogorovModel | None = None
        self._rows: Rows | None = None
        self._cells: Cells | None = None
        differing = [column for column in self._columns if column is not None and column.n_questions > 0]
        if len(differing) > 1:
            self._learn(table, seed, nominal=all(isinstance(column, Nominal) for column in differing))
        self._known = [numbers[there] for numbers, there in zip(table.T, known.T, strict=True)]
        return self

    def _learn(self, table: Floats, seed: int, *, nominal: bool) -> None:
        """Draw models of numbers, unless all are `nominal`, and of categories."""
        last = (seed, self.n_jobs)
        cells = Cells.of(table, self._columns, (self.n_events if nominal else "auto", *self._lengths), *last)
        if not nominal:
            given = {name: getattr(self, name) for name in ("n_events", "n_chains", "burn_in", "n_samples", "n_jobs")}
            model = BayesianKolmogorovModel(**given, likelihood="gaussian", random_state=seed)
            values = self._values(table)
            self.model_ = model.fit(Observations.from_dense(values.T, minimum=0.0, maximum=1.0))
            self._rows = rows = Rows.of(model.posterior_)
            cells = cells.weighed(table, values, rows, ("auto", *self._lengths), *last).bent(table, values, rows, seed)
        self._cells = cells

    def transform(self, X: Any) -> Any:
        """Return the table with its missing numbers filled in.

        Parameters
        ----------
        X : array or data frame of numbers
            Of the same columns; its rows may be new. Numbers of 32 or 16 bits come back as such.
        """
        check_is_fitted(self)
        table, kind = self._table(X, reset=False)
        filled = next(self._drawn(table, 1, self._rng)) if self.sample_posterior else self._expected(table)
        return self._arranged(filled, table, kind)

    def imputations(self, X: Any, n_imputations: int = 20, *, random_state: Any = None) -> Floats:
        """Return several completed tables, each of another draw: what differs between them is not known.

        Parameters
        ----------
        X : array or data frame of numbers
            As for `transform`.
        n_imputations : int
        random_state : int, Generator or None
            None goes on with the numbers of the fit.

        Returns
        -------
        array of shape (n_imputations, n_rows, n_columns)

        Examples
        --------
        >>> import numpy as np
        >>> import kolmogorov as km
        >>> table = [[1, 10], [2, 21], [3, 29], [4, 41], [5, np.nan]]
        >>> imputer = km.KolmogorovImputer(burn_in=20, n_samples=5, random_state=0).fit(table)
        >>> tables = imputer.imputations(table, 3)
        >>> tables.shape, bool((tables[:, 0] == (1, 10)).all())
        ((3, 5, 2), True)
        """
        check_is_fitted(self)
        check_parameters("imputations", {"n_imputations": n_imputations}, {"n_imputations": Integer(1)})
        table, kind = self._table(X, reset=False)
        rng = self._rng if random_state is None else np.random.default_rng([base_seed(random_state), 2])
        return np.stack([self._arranged(filled, table, kind) for filled in self._drawn(table, n_imputations, rng)])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of `transform`: those of the table that are kept, and of the indicator."""
        check_is_fitted(self)
        names = super().get_feature_names_out(input_features)
        kept: NDArray[Any] = names[self._kept]
        if self.indicator_ is None:
            return kept
        return np.concatenate([kept, self.indicator_.get_feature_names_out(names)])

    # --- what is filled in ------------------------------------------------------------------------------------------

    def _expected(self, table: Floats) -> Floats:
        """Fill in what is expected of every missing number."""
        filled, gaps = table.copy(), np.isnan(table)
        rows = np.flatnonzero(gaps.any(axis=1))
        for part in [slice(None)] if self._rows is None else self._rows.parts(rows.size):
            some = rows[part]
            values = self._values(table[some])
            moments = None if self._rows is None else self._rows.moments(values)
            for place, column, questions in self._questions():
                holes = gaps[some, place]
                if column is None or not holes.any():
                    filled[some[holes], place] = 0.0
                elif self._cells is None:
                    filled[some[holes], place] = self._alone(place, column)
                else:
                    nothing = np.zeros((2, 1, holes.sum(), column.n_questions))
                    mean, variance = nothing if moments is None else (found[:, holes, questions] for found in moments)
                    mean = self._cells.mixed(mean, table[some[holes]], values[holes], place)
                    filled[some[holes], place] = column.expected(mean, variance, self.fill)
        return filled

    def _drawn(self, table: Floats, n_imputations: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Yield tables with every missing number drawn, each table given one draw of the columns."""
        gaps = np.isnan(table)
        rows = np.flatnonzero(gaps.any(axis=1))
        values = self._values(table[rows])
        n_draws = 1 if self._cells is None else self._cells.draws.n_draws
        order = [rng.permutation(n_draws) for _ in range(-(-n_imputations // n_draws))]
        cells = self._cells
        added = {} if cells is None else {i: cells.added(table[rows], values, i) for i in cells.bends}
        for k in np.concatenate(order)[:n_imputations]:
            filled = table.copy()
            said = np.empty((rows.size, 0)) if self._rows is None else self._rows.drawn(k, values, rng)
            by_category = None if self._cells is None else self._cells.drawn(k, table[rows], rng)
            for place, column, questions in self._questions():
                holes = gaps[rows, place]
                chances = None if by_category is None else by_category(place)
                if column is None or isinstance(column, Constant):
                    filled[rows[holes], place] = 0.0 if column is None else column.number
                elif chances is not None and isinstance(column, (Nominal, Ordered)):
                    filled[rows[holes], place] = chosen(column.numbers, chances[holes], rng)
                elif self._rows is None or self._cells is None:
                    filled[rows[holes], place] = rng.choice(self._known[place], int(holes.sum()))
                else:
                    noise = np.sqrt(self._rows.noise[k, questions] * self._cells.share(place))
                    more = added[place][holes, None] if place in added else 0.0
                    filled[rows[holes], place] = column.drawn(said[holes, questions] + more, noise, rng)
            yield filled

    def _alone(self, place: int, column: Column) -> float:
        """Return what is expected of a column where no other says anything of it."""
        values = column.values(self._known[place]).mean(axis=0)[None, None]
        if isinstance(column, Constant) or self.fill == "value" or column.n_questions > 1:
            return float(column.expected(values, np.zeros_like(values), self.fill)[0])
        return mean_of(self._known[place])

    def _questions(self) -> Iterator[tuple[int, Column | None, slice]]:
        """Yield every column with its place in the table and its questions to the model."""
        first = 0
        for place, column in enumerate(self._columns):
            width = 0 if column is None else column.n_questions
            yield place, column, slice(first, first + width)
            first += width

    def _values(self, table: Floats) -> Floats:
        """Return the table as values from 0 to 1 by questions; new rows may hold numbers beyond what was known."""
        width = sum(0 if column is None else column.n_questions for column in self._columns)
        values = np.full((len(table), width), np.nan)
        for place, column, questions in self._questions():
            known = ~np.isnan(table[:, place])
            if column is not None:
                values[known, questions] = column.values(table[known, place])
        return values

    # --- tables in and out --------------------------------------------------------------------------------------------

    @property
    def _kept(self) -> NDArray[np.bool_]:
        return np.array([column is not None or self.keep_empty_features for column in self._columns], dtype=bool)

    def _arranged(self, filled: Floats, table: Floats, kind: np.dtype[Any]) -> Floats:
        """Leave out columns that are not kept, add the indicator's, and return numbers of the kind that came."""
        limits = np.finfo(kind)
        kept = np.clip(filled[:, self._kept], limits.min, limits.max).astype(kind)
        return kept if self.indicator_ is None else np.hstack([kept, self.indicator_.transform(table)])

    def _table(self, X: Any, *, reset: bool) -> tuple[Floats, np.dtype[Any]]:
        """Return what `fit` (with `reset`) and `transform` were given, with NaN for what is missing, and its type."""
        finite: Any = "allow-nan" if is_nan(self.missing_values) else True
        try:
            table = validate_data(self, X, reset=reset, dtype=FLOAT_DTYPES, ensure_all_finite=finite, copy=True)
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            raise DataError(
                f"The table must hold numbers, but {error}. Encode words by sklearn.preprocessing.OrdinalEncoder and "
                "name their columns in 'nominal'; read_answers reads a table of words."
            ) from None
        if not is_nan(self.missing_values):
            with np.errstate(over="ignore"):  # In the table's own type: 0.1 of 32 bits is another number in 64.
                table[table == table.dtype.type(self.missing_values)] = np.nan
        return table.astype(np.float64), table.dtype

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.missing_values, numbers.Real) or isinstance(self.missing_values, bool):
            raise ParameterError(named("missing_values") + f" must be a number or nan, got {self.missing_values!r}.")
        check_kinds(self.ordered, self.nominal)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = is_nan(self.missing_values)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def is_nan(mark: Any) -> bool:
    """Tell whether NaN stands for what is missing."""
    return isinstance(mark, numbers.Real) and bool(np.isnan(float(mark)))
