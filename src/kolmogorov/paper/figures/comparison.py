"""Training error by sweep, for the figures that compare solvers by it."""

from __future__ import annotations

from kolmogorov.paper.claims import Trial, same_error
from kolmogorov.paper.fits import Found, deviation, last_errors
from kolmogorov.paper.result import percent


def distances(fits: dict[str, Found], of: str) -> tuple[int, dict[str, tuple[float, bool]]]:
    """Compare where fits end with where one of them does, after as many sweeps as all have.

    Returns these sweeps, and for every other label its relative distance and whether that counts as the same.
    """
    sweeps = min(len(one["train"][0]) for one in fits.values())
    ends = {label: last_errors(one, sweeps) for label, one in fits.items()}
    own, spread = float(ends[of].mean()), max(deviation(errors) for errors in ends.values())
    means = {label: float(errors.mean()) for label, errors in ends.items() if label != of}
    return sweeps, {label: (mean / own - 1, same_error(mean, own, spread)) for label, mean in means.items()}


def beside(reading: str, fits: dict[str, Found], of: str) -> Trial:
    """Tell whether all fits end where one of them does."""
    sweeps, apart = distances(fits, of)
    own = float(last_errors(fits[of], sweeps).mean())
    told = ", ".join(f"{label} {percent(distance)}" for label, (distance, _) in apart.items())
    return Trial(reading, f"{of} {own:.4f}, {told} after {sweeps} sweeps", all(same for _, same in apart.values()))
