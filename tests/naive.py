"""Slow, obvious twins of every kernel and solver, written from the formulas. Nothing here imports what it judges.

The twins of the row solvers are in `kolmogorov.testing.references`, with the suite that others use too.
"""

import itertools

import numpy as np

from kolmogorov.testing.references import (  # noqa: F401 (the tests find all twins here)
    best_binary,
    best_in_box,
    best_on_simplex,
    is_two_flip_optimal,
    value,
)


def normal_equations(entries, factors, ridge, centre):
    """Gram matrix and moment of one row; entries are (partner, answer, weight)."""
    size = factors.shape[1]
    gram = ridge * np.eye(size)
    moment = ridge * np.asarray(centre, dtype=float)
    for partner, answer, weight in entries:
        f = factors[partner]
        gram = gram + weight * np.outer(f, f)
        moment = moment + weight * answer * f
    return gram, moment


def objective(observations, theta, psi, centre, user_reg, item_reg):
    """The training objective, one cell at a time."""
    total = user_reg * ((theta - centre) ** 2).sum() + item_reg * psi.sum()
    weights = observations.weights if observations.weights is not None else np.ones(len(observations))
    cells = zip(observations.user_rows(), observations.item_rows(), observations.values, weights, strict=True)
    for u, i, p, w in cells:
        total += w * (theta[u] @ psi[i] - p) ** 2
    return total


def rmse(observations, theta, psi):
    errors = [
        (theta[u] @ psi[i] - p) ** 2
        for u, i, p in zip(observations.user_rows(), observations.item_rows(), observations.values, strict=True)
    ]
    return np.sqrt(np.mean(errors))


def cells(observations):
    """The observations as a dictionary from (user id, item id) to probability."""
    return {
        (observations.users.ids[u], observations.items.ids[i]): p
        for u, i, p in zip(observations.user_rows(), observations.item_rows(), observations.values, strict=True)
    }


def lifted(gram, moment):
    """A and the constant with x^T S x - 2 x^T v = [1 s] A [1 s]^T + constant, x = (s + 1) / 2."""
    ones = np.ones(len(moment))
    a = gram @ ones / 2 - moment
    matrix = np.block([[np.zeros((1, 1)), a[None] / 2], [a[:, None] / 2, gram / 4]])
    return matrix, float(ones @ gram @ ones / 4 - ones @ moment)


def dual_value(matrix, dual, gamma):
    """h(dual) = sum(dual) + gamma/2 |Pi_+(C)|^2."""
    values = np.linalg.eigvalsh(-matrix - np.diag(dual))
    return float(dual.sum() + gamma / 2 * (np.clip(values, 0, None) ** 2).sum())


def dual_gradient(matrix, dual, gamma):
    """1 - gamma diag(Pi_+(C))."""
    values, vectors = np.linalg.eigh(-matrix - np.diag(dual))
    return 1 - gamma * np.diag(vectors @ np.diag(np.clip(values, 0, None)) @ vectors.T)


def dual_solution(matrix, dual, gamma):
    """X = gamma Pi_+(C)."""
    values, vectors = np.linalg.eigh(-matrix - np.diag(dual))
    return gamma * vectors @ np.diag(np.clip(values, 0, None)) @ vectors.T


def backtracking_descent(matrix, gamma, tol, step, shrink, armijo, start=1.0):
    """The paper's Algorithm 1 as printed; every dual point it visits."""
    dual = np.full(len(matrix), start)
    points = [dual]
    while True:
        gradient = dual_gradient(matrix, dual, gamma)
        h, t = dual_value(matrix, dual, gamma), step
        while dual_value(matrix, dual - t * gradient, gamma) > h - armijo * t * gradient @ gradient:
            t *= shrink
        dual = dual - t * gradient
        points.append(dual)
        if t * np.linalg.norm(gradient) <= tol:
            return np.array(points)


def descent_phase(matrix, dual):
    """The phase of the paper's Algorithm 2 at a dual point."""
    if len(set(dual)) == 1:
        return "I-A" if np.linalg.eigvalsh(-matrix)[-1] - dual[0] <= 0 else "I-B"
    return "II-A" if np.linalg.eigvalsh(-matrix)[-1] + (-dual).max() <= 0 else "II-B"


def krylov_ritz_values(matrix, start, m):
    """Ritz values on the span of start, C start, ..., by a QR decomposition of that very matrix."""
    columns = [start]
    for _ in range(m - 1):
        columns.append(matrix @ columns[-1] / np.linalg.norm(matrix @ columns[-1]))
    q = np.linalg.qr(np.array(columns).T)[0]
    return np.linalg.eigvalsh(q.T @ matrix @ q)


def biased_prediction(mean, user_bias, item_bias, user_factors, item_factors, u, i):
    return np.clip(mean + user_bias[u] + item_bias[i] + user_factors[u] @ item_factors[i], 0, 1)


def svdpp_epoch(table, order, mean, rate, reg, bu, bi, p, q, y):
    """One epoch, user after user; `table` lists the entries (item, value) of each user."""
    for u in order:
        entries = table[u]
        if not entries:
            continue
        norm = len(entries) ** -0.5
        total = norm * sum(y[i] for i, _ in entries)
        change = np.zeros_like(total)
        for i, r in entries:
            e = r - (mean + bu[u] + bi[i] + q[i] @ (p[u] + total))
            bu[u] += rate * (e - reg * bu[u])
            bi[i] += rate * (e - reg * bi[i])
            old = q[i].copy()
            q[i] += rate * (e * (p[u] + total) - reg * old)
            p[u] += rate * (e * old - reg * p[u])
            change += rate * e * old * norm
            total = total + len(entries) * norm * rate * e * old * norm
        for i, _ in entries:
            y[i] += change - rate * reg * len(entries) * y[i]


def contingency(observations, j, i, likes):
    """Users observed with both items, by [yes to j][yes to i]."""
    said = {}
    for user, item, answer in zip(
        observations.user_rows().tolist(), observations.item_rows().tolist(), observations.values, strict=True
    ):
        said.setdefault(user, {})[item] = int(answer >= likes)
    square = np.zeros((2, 2), dtype=int)
    for answers in said.values():
        if j in answers and i in answers:
            square[answers[j], answers[i]] += 1
    return square


def bit_distribution(gram, moment):
    """Probabilities of all bit vectors (first bit most significant) with density exp(-value / 2)."""
    points = np.array(list(itertools.product((0.0, 1.0), repeat=len(moment))))
    logs = np.array([-0.5 * (x @ gram @ x - 2 * x @ moment) for x in points])
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def simplex_draws(gram, moment, n, rng):
    """Points of the simplex with density exp(-value / 2), by rejection from the uniform distribution."""
    uniform = rng.dirichlet(np.ones(len(moment)), 400_000)
    logs = -0.5 * (np.einsum("nd,de,ne->n", uniform, gram, uniform) - 2 * uniform @ moment)
    kept = uniform[np.log(rng.random(len(uniform))) < logs - logs.max()]
    assert len(kept) >= n // 4
    return kept[:n]


def answer_distribution(theta, values, logit, floor):
    """Probabilities of all supports of an item given yes/no answers, its prior log odds and the floor."""
    points = np.array(list(itertools.product((0.0, 1.0), repeat=theta.shape[1])))
    weights = []
    for psi in points:
        chance = floor + (1 - 2 * floor) * theta @ psi
        weights.append(np.prod(np.where(values == 1, chance, 1 - chance)) * np.exp(logit @ psi))
    return np.array(weights) / np.sum(weights)


def flip_gains(gram, moment, x):
    """What flipping each bit adds to the value."""
    gains = []
    for d in range(len(x)):
        other = x.copy()
        other[d] = 1 - other[d]
        gains.append(value(gram, moment, other) - value(gram, moment, x))
    return np.array(gains)


def best_between(gram, moment, x, y):
    """The best point of the middle third of the greedy path of single flips from x to y."""
    here, path = x.copy(), []
    while (here != y).any():
        gains = flip_gains(gram, moment, here)
        gains[here == y] = np.inf
        d = int(np.argmin(gains))
        here[d] = y[d]
        path.append(here.copy())
    third = len(path) // 3
    return min(path[max(third - 1, 0) : len(path) - third], key=lambda point: value(gram, moment, point), default=x)
