"""A user in the course of time: theta by period, each period placed as a new user would be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kolmogorov._support.optional import to_frame
from kolmogorov._support.typing import Floats, Rows
from kolmogorov._support.wording import named
from kolmogorov.data import Observations
from kolmogorov.data.entries.view import View
from kolmogorov.errors import DataError, ParameterError
from kolmogorov.fitted.point import Fitted
from kolmogorov.interpret.events.naming import EventItems
from kolmogorov.plot.charts import period_areas
from kolmogorov.surface.ids import id_of, rows_of

#: Periods at most: more are a unit that was mistaken. By judgement.
_MOST = 10_000


@dataclass(frozen=True, eq=False)
class Periods:
    """Theta of one user by period.

    Attributes
    ----------
    user : str
        What the user is called.
    labels : list of str
        One for each period in which there are answers: its beginning and its end, which belongs to the next; of a
        period of length 1, its beginning.
    starts : ndarray
        Where the periods begin, in the unit of the times.
    counts : ndarray
        Answers in each.
    theta : ndarray of shape (n_periods, n_events)
    """

    user: str
    labels: list[str]
    starts: Floats
    counts: Rows
    theta: Floats
    events: Sequence[str]

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame: a row for each period, its label, the number of answers, and a column for each event."""
        shares = {f"event{k}": self.theta[:, k] for k in range(self.theta.shape[1])}
        return to_frame({"period": np.array(self.labels, dtype=object), "answers": self.counts, **shares}, backend)

    def plot(self, ax: Any = None) -> Any:
        """Draw the share of every event, one above the other, from period to period (extra `plot`)."""
        return period_areas(self.user, self.labels, self.theta, self.events, ax)


def periods_of(
    fitted: Fitted, place: Callable[[View], Floats], user: Any, every: float, table: Observations
) -> Periods:
    """Return theta of a user for each period of a table with times; `place` is how new users are placed."""
    if table.times is None:
        raise DataError(
            "theta_by_period needs to know when answers were given, and these have no times; the file of a model keeps "
            "none. Give answers that have them as observations=: observations.with_times(times), or "
            "kolmogorov.read_ratings(path, time=...)."
        )
    if isinstance(every, bool) or not isinstance(every, (int, float)) or not 0.0 < every < np.inf:
        raise ParameterError(named("every") + f" must be a number above 0, in the unit of the times, got {every!r}.")
    ids = [id_of(table.users, user, "user")]
    row = int(rows_of(table.users, table.rows.counts > 0, ids, "user", "error")[0])
    own = slice(int(table.rows.indptr[row]), int(table.rows.indptr[row + 1]))
    items = fitted.items.translate(table.items)[table.rows.indices[own]]
    known = np.flatnonzero(items >= 0)
    if not known.size:
        raise DataError(f"The model knows no item that {user!r} answered.")
    number = np.floor(table.times[own][known] / every)
    if number.max() - number.min() >= _MOST:
        raise ParameterError(named("every") + f" makes more than {_MOST:,} periods; it is in the unit of the times.")
    found, period = np.unique(number, return_inverse=True)
    order = np.lexsort((items[known], period))
    counts = np.bincount(period)
    view = table.rescaled(fitted.scale).rows
    chosen = own.start + known[order]
    weights = view.weights[chosen] if view.weights.size else view.weights
    indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    theta = place(View(indptr, items[known][order].astype(np.int32), view.values[chosen], weights))
    starts = found * every
    labels = [_label(start, float(every), table.dated) for start in starts.tolist()]
    return Periods(str(table.users.name(row)), labels, starts, counts, theta, EventItems(fitted).names())


def _label(start: float, every: float, dated: bool) -> str:
    if dated:
        ends = (str(np.datetime64(int(end), "s").astype("datetime64[D]")) for end in (start, start + every))
        return "\N{EN DASH}".join(dict.fromkeys(ends))
    return f"{start:.10g}" if every == 1.0 else f"{start:.10g}\N{EN DASH}{start + every:.10g}"
