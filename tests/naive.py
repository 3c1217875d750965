"""Slow, obvious twins of every kernel and solver, written from the formulas. Nothing here imports what it judges."""

import itertools

import numpy as np
from scipy import optimize, stats


def value(gram, moment, x):
    """x^T gram x - 2 x^T moment."""
    return float(x @ gram @ x - 2 * x @ moment)


def best_binary(gram, moment):
    """Try all 2^D points."""
    points = (np.array(bits, dtype=float) for bits in itertools.product((0, 1), repeat=len(moment)))
    return min(points, key=lambda x: value(gram, moment, x))


def best_on_simplex(gram, moment):
    """Try every support: on each one the optimum solves a linear system; keep the best feasible point."""
    size = len(moment)
    found = []
    for count in range(1, size + 1):
        for support in itertools.combinations(range(size), count):
            s = list(support)
            system = np.zeros((count + 1, count + 1))
            system[:count, :count] = gram[np.ix_(s, s)]
            system[:count, count] = system[count, :count] = 1.0
            answer = np.linalg.lstsq(system, np.append(moment[s], 1.0), rcond=None)[0][:count]
            if (answer >= -1e-9).all():
                x = np.zeros(size)
                x[s] = np.clip(answer, 0, None)
                found.append(x / x.sum())
    return min(found, key=lambda x: value(gram, moment, x))


def best_in_box(gram, moment):
    """Try every choice of entries that sit at 0, at 1, or inside; inside they solve a linear system."""
    size = len(moment)
    found = []
    for states in itertools.product((0, 1, None), repeat=size):
        x = np.array([0.0 if state is None else float(state) for state in states])
        free = [d for d in range(size) if states[d] is None]
        if free:
            right = moment[free] - gram[np.ix_(free, range(size))] @ x
            x[free] = np.linalg.lstsq(gram[np.ix_(free, free)], right, rcond=None)[0]
        if (x >= -1e-9).all() and (x <= 1 + 1e-9).all():
            found.append(np.clip(x, 0, 1))
    return min(found, key=lambda x: value(gram, moment, x))


def best_without_limits(gram, moment):
    """Solve the linear system in which the gradient is zero."""
    return np.linalg.lstsq(gram, moment, rcond=None)[0]


def is_two_flip_optimal(gram, moment, x):
    """Whether no flip of one bit or of two lowers the value."""
    here = value(gram, moment, x)
    for flips in itertools.chain(itertools.combinations(range(len(x)), 1), itertools.combinations(range(len(x)), 2)):
        other = x.copy()
        other[list(flips)] = 1 - other[list(flips)]
        if value(gram, moment, other) < here - 1e-9:
            return False
    return True


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


def printed_lanczos(matrix, start, delta):
    """The paper's Algorithm 5 as printed: the basis, a vector a row, and the tridiagonal matrix."""
    n = len(start)
    basis, small, previous, beta = [start], np.zeros((n, n)), np.zeros(n), 0.0
    for j in range(n):
        w = matrix @ basis[j] - beta * previous
        small[j, j] = w @ basis[j]
        w = w - small[j, j] * basis[j]
        beta = np.linalg.norm(w)
        if beta <= delta or j + 1 == n:
            return np.array(basis), small[: j + 1, : j + 1]
        small[j, j + 1] = small[j + 1, j] = beta
        previous = basis[j]
        basis.append(w / beta)


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


def readiness(observations, likes, rounds=400):
    """The chances of a yes that have every user's and every item's number of yes, as a table; nan where unobserved."""
    seen = np.zeros((observations.n_users, observations.n_items), dtype=bool)
    yes = np.zeros(seen.shape, dtype=bool)
    seen[observations.user_rows(), observations.item_rows()] = True
    yes[observations.user_rows(), observations.item_rows()] = observations.values >= likes
    given = yes.sum(axis=1, keepdims=True)
    certain = (given == 0) | (given == seen.sum(axis=1, keepdims=True))
    # Users who say yes to all, or to nothing, leave nothing to chance.
    free = seen & ~certain
    users, items = np.zeros((len(seen), 1)), np.zeros((1, seen.shape[1]))
    for _ in range(rounds):
        for side, axis in ((users, 1), (items, 0)):
            number, wanted = free.sum(axis=axis, keepdims=True), (yes & free).sum(axis=axis, keepdims=True)
            if side is items:
                short = np.minimum(0.25, number / 2)
                wanted = np.clip(wanted, short, number - short)
            p = free / (1.0 + np.exp(-(users + items)))
            slope = np.maximum((p * (1 - p)).sum(axis=axis, keepdims=True), 1e-3)
            side += np.where(number > 0, np.clip((wanted - p.sum(axis=axis, keepdims=True)) / slope, -1, 1), 0.0)
    return np.where(seen, np.where(certain, yes, 1.0 / (1.0 + np.exp(-(users + items)))), np.nan), yes


def departure(chances, yes, j, i):
    """Sum, variance and third moment of how much answers to j and i go together."""
    found = np.zeros(3)
    for p, x in zip(chances, yes, strict=True):
        if np.isnan(p[j]) or np.isnan(p[i]):
            continue
        v = p * (1 - p)
        if np.nansum(v) == 0.0:
            continue
        together = v[j] * v[i] / np.sqrt((np.nansum(v) - v[j]) * (np.nansum(v) - v[i]))
        found += (
            (x[j] - p[j]) * (x[i] - p[i]) + together,
            v[j] * v[i],
            v[j] * (1 - 2 * p[j]) * v[i] * (1 - 2 * p[i]),
        )
    return found


def swapped(yes, seen, rounds, rng):
    """Exchange yes and no of two users and two items, where all four were observed: no sum changes."""
    yes = yes.copy()
    n_users, n_items = yes.shape
    for _ in range(rounds):
        u, v = rng.integers(n_users, size=2)
        j, i = rng.integers(n_items, size=2)
        if seen[u, j] and seen[u, i] and seen[v, j] and seen[v, i]:
            square = yes[u, j], yes[u, i], yes[v, j], yes[v, i]
            if square in ((True, False, False, True), (False, True, True, False)):
                yes[u, j], yes[u, i], yes[v, j], yes[v, i] = (not one for one in square)
    return yes


def simplex_draws(gram, moment, n, rng):
    """Points of the simplex with density exp(-value / 2), by rejection from the uniform distribution."""
    uniform = rng.dirichlet(np.ones(len(moment)), 400_000)
    logs = -0.5 * (np.einsum("nd,de,ne->n", uniform, gram, uniform) - 2 * uniform @ moment)
    kept = uniform[np.log(rng.random(len(uniform))) < logs - logs.max()]
    assert len(kept) >= n // 4
    return kept[:n]


def distribution_scores(values, distribution, weights, levels, points, floor=0.01, bins=10):
    """Log score and calibration, one entry and one threshold at a time."""

    def spread(given):
        at = min(max(given, points[0]), points[-1])
        out = np.zeros(len(points))
        for k in range(len(points) - 1):
            if points[k] - 1e-12 <= at <= points[k + 1] + 1e-12:
                part = (at - points[k]) / (points[k + 1] - points[k])
                out[k], out[k + 1] = 1 - part, part
                break
        return out

    logs, mass = 0.0, 0.0
    forecasts = []
    for came, row, weight in zip(values, distribution, weights, strict=True):
        chance = (1 - floor) * sum(p * spread(level) for p, level in zip(row, levels, strict=True))
        chance = chance + floor / len(points)
        forecasts.append(chance)
        logs += weight * np.log(chance @ spread(came))
        mass += weight
    off = []
    for k in range(1, len(points)):
        total = 0.0
        for b in range(bins):
            gap = 0.0
            for came, chance, weight in zip(values, forecasts, weights, strict=True):
                said = chance[k:].sum()
                if min(int(said * bins), bins - 1) == b:
                    gap += weight * (said - (came >= points[k] - 1e-9))
            total += abs(gap)
        off.append(total / mass)
    return {"log_score": logs / mass, "calibration": np.mean(off)}


def related(kind, left, right):
    """Whether two supports stand in a relation; of an implication equal ones do, too."""
    return {
        "implication": (right | ~left).all(),
        "equivalence": (right == left).all(),
        "exclusion": not (left & right).any(),
        "coverage": (left | right).all(),
    }[kind]


def related_pairs(psi, rows, level, kind="implication"):
    """All relations between items that happen where they are at least a level; those both ways once."""
    bits = psi >= level - 1e-6
    return {
        (j, i)
        for j, i in itertools.permutations(rows, 2)
        if related(kind, bits[j], bits[i]) and (j < i if kind != "implication" else (bits[j] != bits[i]).any())
    }


def full_table(observations, unobserved):
    """Values and weights of every cell: what was not observed is a no of weight `unobserved`."""
    values = np.zeros((observations.n_users, observations.n_items))
    weights = np.full_like(values, unobserved)
    place = observations.user_rows(), observations.item_rows()
    values[place] = observations.values
    weights[place] = 1.0 if observations.weights is None else observations.weights
    return values, weights


def best_list(scores, seen, counts, k, least=0):
    """The k items of one user with the largest scores that he was not observed with; ties to the more observed."""
    allowed = [i for i in range(len(scores)) if i not in seen and counts[i] >= least]
    return sorted(allowed, key=lambda i: (-round(scores[i], 12), -counts[i], i))[:k]


def low_quantile(values, level):
    """The quantile of some numbers, by a straight line between the two that are next to it in order."""
    ordered, place = sorted(values), level * (len(values) - 1)
    low, high = ordered[int(place)], ordered[min(int(place) + 1, len(values) - 1)]
    return low + (place - int(place)) * (high - low)


def list_scores(listed, relevant, k):
    """Recall, precision, nDCG, average precision, reciprocal rank and hit of one list, from their definitions."""
    hits = [j for j, item in enumerate(listed) if item in relevant]
    gain = sum(1 / np.log2(j + 2) for j in hits)
    ideal = sum(1 / np.log2(j + 2) for j in range(min(k, len(relevant))))
    precision = sum((n + 1) / (j + 1) for n, j in enumerate(hits))
    return (
        len(hits) / len(relevant),
        len(hits) / k,
        gain / ideal,
        precision / min(k, len(relevant)),
        1 / (hits[0] + 1) if hits else 0.0,
        float(bool(hits)),
    )


def softmax(logs):
    """Probabilities from logarithms of weights."""
    weights = np.exp(np.asarray(logs) - np.max(logs))
    return weights / weights.sum()


def normal_row(values, weights, precision, factors, centre, pull):
    """Mean and covariance of a row without bounds, given answers with normal noise and a normal prior."""
    whole = precision * sum(w * np.outer(f, f) for w, f in zip(weights, factors, strict=True)) + pull
    moment = precision * sum(w * v * f for w, v, f in zip(weights, values, factors, strict=True)) + pull @ centre
    return np.linalg.solve(whole, moment), np.linalg.inv(whole)


def stretch_density(stretch, ratings, factors, item, centre, pull, noise):
    """Log density of the log of a stretch of an item and its ratings away from one half; factors begin with a 1."""
    line = np.eye(len(item))[0] * 0.5
    ratings, item = 0.5 + stretch * (ratings - 0.5), line + stretch * (item - line)
    left = [(rating - f @ item) ** 2 / noise for rating, f in zip(ratings, factors, strict=True)]
    n = len(ratings) + len(item)
    return n * np.log(stretch) - 0.5 * sum(left) - 0.5 * (item - centre) @ pull @ (item - centre)


def value_distribution(theta, values, heavy, grid, centre, pull):
    """Probabilities of all vectors of an item's values (first event most significant), answers with normal noise."""
    logs = []
    for x in itertools.product(grid, repeat=theta.shape[1]):
        x = np.array(x)
        logs.append(-0.5 * heavy @ (values - theta @ x) ** 2 - 0.5 * (x - centre) @ pull @ (x - centre))
    return softmax(logs)


def chance_of_yes(said):
    """The chance that a rating with normal noise of variance 1 / (2 pi) around what is said lies above one half."""
    return stats.norm.sf(0.5, loc=said, scale=np.sqrt(1.0 / (2.0 * np.pi)))


def answer_shares(theta, psi, deviation, users, items, cuts):
    """The probability of a new answer between cuts: normal noise around what each draw says, one at a time."""
    out = np.zeros((len(users), len(cuts) + 1))
    for n, (u, i) in enumerate(zip(users, items, strict=True)):
        for k in range(len(theta)):
            upto = stats.norm.cdf(cuts, theta[k, u] @ psi[k, i], deviation[k, u])
            out[n] += np.diff(np.concatenate([[0.0], upto, [1.0]])) / len(theta)
    return out


def completed_table(theta, psi, hidden=False):
    """The mean over models of what they say."""
    total = np.zeros((theta.shape[1], psi.shape[1]))
    for k in range(len(theta)):
        for u in range(len(total)):
            for i in range(total.shape[1]):
                said = float(theta[k, u].astype(float) @ psi[k, i].astype(float))
                total[u, i] += (chance_of_yes(said) if hidden else said) / len(theta)
    return total


def table_distance(table, theta, psi, user_weights, item_weights):
    """The weighted mean of squared distances of products from a table; weights sum to 1."""
    total = 0.0
    for u in range(len(table)):
        for i in range(table.shape[1]):
            total += user_weights[u] * item_weights[i] * (theta[u] @ psi[i] - table[u, i]) ** 2
    return total


def placed_row(entries, factors, centre, strength, unobserved=0.0):
    """Gram matrix and moment of a row that is drawn to a centre; entries are {partner: (answer, weight)}."""
    gram, moment = np.array(strength, dtype=float), strength @ centre
    for partner, f in enumerate(factors):
        answer, weight = entries.get(partner, (0.0, unobserved))
        gram = gram + weight * np.outer(f, f)
        moment = moment + weight * answer * f
    return gram, moment


def tilted(points, shares, mean):
    """The distribution nearest to some shares that has a given mean, by bisection on how steep the tilt is."""
    points, shares = np.asarray(points, dtype=float), np.maximum(shares, 1e-12)
    close = 1e-13 * (points[-1] - points[0])
    if not points[0] + close < mean < points[-1] - close:
        return np.eye(len(points))[0 if mean <= points[0] + close else -1]

    def distribution(slope):
        return softmax(np.log(shares) + slope * points)

    steep = 100 / np.diff(points).min()
    return distribution(optimize.brentq(lambda s: distribution(s) @ points - mean, -steep, steep, xtol=1e-13))


def likes_by_event(fitted):
    """How much the people of each event like each item, one answer at a time, and what would be expected."""
    training, points = fitted.training, fitted.points
    given = np.unique(training.values.round(9))
    least = given[-1]
    for point in given[given > 0][::-1]:
        if (training.values >= point - 1e-9).mean() <= 0.6:
            least = point
    likes = np.zeros((len(fitted.items), fitted.theta.shape[1]))
    for user, item, said in zip(training.user_rows(), training.item_rows(), training.values, strict=True):
        liked = said if len(points) == 2 else float(said >= least - 1e-9)
        likes[item] += liked * fitted.theta[user]
    expected = np.outer(likes.sum(axis=1), likes.sum(axis=0)) / max(likes.sum(), 1e-300)
    return likes, expected


def telling_scores(fitted, doubt=10.0):
    """How far each item stands out in each event, times the share of its standing out that falls to the event."""
    likes, expected = likes_by_event(fitted)
    score = np.zeros_like(likes)
    for item in range(len(likes)):
        out = [
            max(likes[item, d] - expected[item, d], 0.0) / np.sqrt(expected[item, d] + doubt)
            for d in range(likes.shape[1])
        ]
        for d in range(likes.shape[1]):
            score[item, d] = np.sqrt(likes[item, d] + 1) * out[d] ** 2 / sum(out) if sum(out) > 0 else 0.0
    return score


def telling_items(fitted, count):
    """The items that name each event, as tuples of row numbers."""
    score = telling_scores(fitted)
    found = []
    for d in range(score.shape[1]):
        order = sorted(range(len(score)), key=lambda row: (-score[row, d], row))[:count]
        found.append(tuple(row for row in order if score[row, d] > 0))
    return found


def link_weights(table, ridges):
    """The ridge regression of every column on all others, one after the other, as least squares."""
    n_items = table.shape[1]
    weights = np.zeros((n_items, n_items))
    for item in range(n_items):
        others = [j for j in range(n_items) if j != item]
        penalised = np.vstack([table[:, others], np.diag(np.sqrt(ridges[others]))])
        target = np.concatenate([table[:, item], np.zeros(n_items - 1)])
        weights[others, item] = np.linalg.lstsq(penalised, target, rcond=None)[0]
    return weights


def neighbour_links(table, ridges, n_neighbours):
    """The same on those other columns that have the largest cosine with the column, zero for all others."""
    n_items, lengths = table.shape[1], np.linalg.norm(table, axis=0)
    weights = np.zeros((n_items, n_items))
    for item in range(n_items):
        together = table.T @ table[:, item]
        cosine = [together[j] / lengths[j] if j != item and together[j] > 0 else -1.0 for j in range(n_items)]
        chosen = sorted(range(n_items), key=lambda j: (-round(cosine[j], 12), j))[:n_neighbours]
        chosen = [j for j in chosen if cosine[j] > 0]
        if chosen:
            gram = table[:, chosen].T @ table[:, chosen] + np.diag(ridges[chosen])
            weights[chosen, item] = np.linalg.solve(gram, together[chosen])
    return weights


def answer_logs(posterior, users, items, answers):
    """The logarithm of how likely each answer is in each draw, one by one, from what a draw says of events."""
    found = np.empty((posterior.n_draws, len(answers)))
    for k in range(posterior.n_draws):
        for n, (u, i, answer) in enumerate(zip(users, items, answers, strict=True)):
            theta, psi = posterior.theta[k, u].astype(float), posterior.psi[k, i].astype(float)
            said = sum(theta[d] * psi[d] for d in range(theta.size))
            if posterior.likelihood == "gaussian":
                found[k, n] = stats.norm.logpdf(answer, said, np.sqrt(float(posterior.noise[k, u])))
                continue
            if posterior.likelihood == "bernoulli":
                hidden = posterior.levels[0] < 0.0 or posterior.levels[-1] > 1.0
                chance = chance_of_yes(said) if hidden else said
                density = chance if answer == 1.0 else 1.0 - chance
            else:
                values = np.unique(posterior.training.values)
                place = int(np.argmin(np.abs(values - answer)))
                density = 0.0
                for d in range(theta.size):
                    level = int(np.argmin(np.abs(posterior.levels - psi[d])))
                    astray = min(0.1 * (values.size - 1), 0.3)
                    further = [0.3 ** abs(level - other) if other != level else 0.0 for other in range(values.size)]
                    emitted = 1.0 - astray if place == level else astray * further[place] / sum(further)
                    density += theta[d] * emitted
            found[k, n] = np.log(density)
    return found


def steps(theta, left, ridge=3.0):
    """Return the mean of what is left in each event, with so many rows of 0 added to each."""
    size = theta.shape[1]
    return np.linalg.lstsq(np.vstack([theta, np.sqrt(ridge) * np.eye(size)]), np.r_[left, np.zeros(size)], rcond=None)[
        0
    ]


def expected_column(thetas, slopes, values):
    """Return what users expect of an item by its attributes, on average over draws."""
    found = np.zeros(thetas.shape[1])
    for theta, own in zip(thetas, slopes, strict=True):
        for u, row in enumerate(theta):
            psi = own[0] + sum(value * slope for value, slope in zip(values, own[1:], strict=True))
            found[u] += float(row @ psi) / len(thetas)
    return found


def nearest_column(theta, weights, column):
    """Return the psi, of any numbers, whose column is nearest to one, where rows weigh differently."""
    root = np.sqrt(weights)
    return np.linalg.lstsq(theta * root[:, None], column * root, rcond=None)[0]
