"""Slow, obvious answers to the small problems, written from the formulas. Nothing here imports what it judges."""

from __future__ import annotations

import itertools

import numpy as np

from kolmogorov._support.typing import Floats


def value(gram: Floats, moment: Floats, x: Floats) -> float:
    """Return x^T gram x - 2 x^T moment."""
    return float(x @ gram @ x - 2 * x @ moment)


def best_binary(gram: Floats, moment: Floats) -> Floats:
    """Try all 2^D points."""
    points = (np.array(bits, dtype=float) for bits in itertools.product((0, 1), repeat=len(moment)))
    return min(points, key=lambda x: value(gram, moment, x))


def best_on_simplex(gram: Floats, moment: Floats) -> Floats:
    """Try every support: on each one the optimum solves a linear system; keep the best feasible point."""
    size = len(moment)
    best = None
    for count in range(1, size + 1):
        for support in itertools.combinations(range(size), count):
            s = list(support)
            system = np.zeros((count + 1, count + 1))
            system[:count, :count] = gram[np.ix_(s, s)]
            system[:count, count] = system[count, :count] = 1.0
            answer = np.linalg.lstsq(system, np.append(moment[s], 1.0), rcond=None)[0][:count]
            if (answer < -1e-9).any():
                continue
            x = np.zeros(size)
            x[s] = np.clip(answer, 0, None)
            x /= x.sum()
            if best is None or value(gram, moment, x) < value(gram, moment, best):
                best = x
    assert best is not None
    return best


def best_in_box(gram: Floats, moment: Floats) -> Floats:
    """Try every choice of entries that sit at 0, at 1, or inside; inside they solve a linear system."""
    size = len(moment)
    best = None
    for states in itertools.product((0, 1, None), repeat=size):
        x = np.array([0.0 if state is None else float(state) for state in states])
        free = [d for d in range(size) if states[d] is None]
        if free:
            right = moment[free] - gram[np.ix_(free, range(size))] @ x
            x[free] = np.linalg.lstsq(gram[np.ix_(free, free)], right, rcond=None)[0]
        if (x < -1e-9).any() or (x > 1 + 1e-9).any():
            continue
        x = np.clip(x, 0, 1)
        if best is None or value(gram, moment, x) < value(gram, moment, best):
            best = x
    assert best is not None
    return best


def best_without_limits(gram: Floats, moment: Floats) -> Floats:
    """Solve the linear system in which the gradient is zero."""
    return np.asarray(np.linalg.lstsq(gram, moment, rcond=None)[0])
