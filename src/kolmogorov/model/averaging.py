"""An average of Kolmogorov models is a Kolmogorov model: events add up, thetas are divided by the number of models."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.cluster import KMeans

from kolmogorov._support.seeds import base_seed, generator
from kolmogorov._support.threads import one_blas_thread
from kolmogorov._support.validation import Flag, Integer, check_parameters
from kolmogorov.data import Observations
from kolmogorov.errors import DataError, ParameterError
from kolmogorov.fitting.fitted import Fitted
from kolmogorov.fitting.trained import by_users
from kolmogorov.model.kolmogorov import KolmogorovModel
from kolmogorov.model.simplex_model import SimplexModel
from kolmogorov.sampling.grid import FINE_STEPS, on_grid
from kolmogorov.sampling.posterior import stacked
from kolmogorov.solvers import resolve

Floats = NDArray[np.float64]


def pruned(
    theta: Floats, psi: NDArray[Any], n_events: int, seed: int, levels: Floats | None = None
) -> tuple[Floats, NDArray[Any]]:
    """Gather similar events until at most `n_events` are left: each stands for a cluster of columns of psi.

    Equal columns are one event, which changes no prediction.
    Columns are clustered by k-means, weighted by the users' mass; an item happens in a gathered event if it does in
    most of the mass behind it; with several levels it takes the one nearest to the mean over that mass.
    """
    psi, same = np.unique(psi, axis=1, return_inverse=True)
    merge = np.zeros((theta.shape[1], psi.shape[1]))
    merge[np.arange(theta.shape[1]), same.ravel()] = 1.0
    theta = theta @ merge
    if n_events >= psi.shape[1]:
        return theta, psi
    mass = theta.sum(axis=0) + 1e-12
    with one_blas_thread():
        found = KMeans(n_events, n_init=1, random_state=seed).fit(psi.T.astype(np.float64), sample_weight=mass)
    gather = np.zeros((psi.shape[1], n_events))
    gather[np.arange(psi.shape[1]), found.labels_] = 1.0
    weight = mass @ gather
    inside = (psi * mass) @ gather / np.where(weight > 0, weight, 1.0)
    rounded = inside > 0.5 if levels is None else levels[np.abs(inside[:, :, None] - levels).argmin(axis=2)]
    return theta @ gather, rounded


def averaged_model(
    theta: Floats,
    psi: NDArray[Any],
    training: Observations,
    settings: SimplexModel | None = None,
    levels: Floats | None = None,
    soft: Fitted | None = None,
) -> Any:
    """Make an ordinary model of averaged parameters; guests are placed with the settings of the models averaged."""
    seen = training.rows.counts > 0
    centre = theta[seen].mean(axis=0)
    fitted = Fitted(theta, psi, centre, training, history=(), levels=levels, soft=soft)
    kept = ("user_reg", "item_reg", "prior", "unobserved", "simplex_solver", "n_jobs")
    options: dict[str, Any] = {} if settings is None else {name: getattr(settings, name) for name in kept}
    kind: Any = KolmogorovModel if settings is None else type(settings)
    if levels is not None:
        options["levels"] = levels.tolist()
    solver = resolve("simplex", options.get("simplex_solver", "active_set"))
    if solver.max_variables is not None and theta.shape[1] > solver.max_variables:
        options["simplex_solver"] = solver.unlimited
    return kind(n_events=theta.shape[1], **options).adopt(fitted)


def bagged(
    observations: Observations,
    n_models: int = 10,
    *,
    model: SimplexModel | None = None,
    bootstrap: bool = False,
    random_state: Any = None,
) -> Any:
    """Fit several models and return their average, an ordinary model with n_models times as many events.

    Parameters
    ----------
    observations : Observations
    n_models : int
    model : KolmogorovModel or NonnegativeModel, optional
        Whose kind and parameters to use.
    bootstrap : bool
        Weigh every observation again for each model by a draw from Exponential(1) (the Bayesian bootstrap); otherwise
        the models differ by their random starts alone.
    random_state : int

    Examples
    --------
    >>> import kolmogorov as km
    >>> train, test = km.datasets.load("zoo").split(test_size=0.2, random_state=0)
    >>> one = km.KolmogorovModel(5, user_reg=0.3, random_state=0).fit(train)
    >>> many = km.bagged(train, 8, model=km.KolmogorovModel(5, user_reg=0.3), random_state=0)
    >>> many.n_events, many.evaluate(test)["rmse"] < one.evaluate(test)["rmse"]
    (40, True)
    """
    check_parameters(
        "bagged", {"n_models": n_models, "bootstrap": bootstrap}, {"n_models": Integer(1), "bootstrap": Flag()}
    )
    base = KolmogorovModel() if model is None else model
    if not isinstance(base, SimplexModel):
        raise ParameterError(f"'model' must be a KolmogorovModel or a NonnegativeModel, got {type(base).__name__}.")
    seed = base_seed(random_state)
    fits = []
    if not isinstance(observations, Observations):
        raise DataError(f"bagged takes Observations, got {type(observations).__name__}.")
    for number in range(n_models):
        rng = generator(seed, number)
        single = clone(base).set_params(random_state=int(rng.integers(2**62)), checkpoint=None, **_alone(base))
        table = _reweighted(observations, rng) if bootstrap else observations
        fits.append(single.fit(table, keep_interrupted=False).fitted_)
    theta, psi = stacked([fit.theta for fit in fits]), np.concatenate([fit.psi for fit in fits], axis=1)
    soft = [fit.soft for fit in fits if fit.soft is not None]
    return averaged_model(theta, psi, by_users(observations), base, fits[0].levels, _averaged(soft) if soft else None)


def _alone(base: SimplexModel) -> dict[str, Any]:
    """Return what lets a model be averaged once, here, and not within itself before."""
    return {"n_soft": 1} if getattr(base, "n_soft", None) == "auto" else {}


def _averaged(fits: list[Fitted]) -> Fitted:
    """Put companions side by side, as the models that they belong to; exact in four bytes, as they are."""
    theta = on_grid(stacked([fit.theta for fit in fits]), FINE_STEPS).astype(np.float64)
    psi = np.concatenate([fit.psi for fit in fits], axis=1)
    ridges = np.mean([fit.ridges for fit in fits if fit.ridges is not None], axis=0)
    centre, n_members = theta[fits[0].user_seen].mean(axis=0), sum(fit.n_members for fit in fits)
    return Fitted(theta, psi, centre, fits[0].training, (), ridges=ridges, n_members=n_members)


def _reweighted(observations: Observations, rng: np.random.Generator) -> Observations:
    rows = observations.rows.weighed(rng.exponential(size=len(observations)))
    return Observations(observations.users, observations.items, rows, observations.scale)
