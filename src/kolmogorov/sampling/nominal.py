"""Chains over models of answers without order, and what their draws say of rows.

In a draw a user has one event, and an item has, in every event, a chance for each of its categories. So what a row is
known to answer gives its theta, the probability of each event, in closed form: for rows of the fit as for new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from kolmogorov._support.seeds import generator, row_seeds
from kolmogorov._support.typing import Floats
from kolmogorov.execution import Threads
from kolmogorov.fitting.descent.half_step import ITEM_SIDE, USER_SIDE
from kolmogorov.kernels.draws.nominal import LEAST, draw_chances, draw_events
from kolmogorov.sampling.chains.chain import PRIORS, START

Answers = NDArray[np.int16]
#: What chances of answers are drawn towards, an item's shares of answers, weighs so many answers: one of these.
_WEIGHTS = 2.0 ** np.arange(-3.0, 9.0, 0.5)
#: The same at the start, the sweeps in which it stays so, and in which users are freer to change their event, with how
#: sharply they begin. By judgement.
_WEIGHT, _HELD, _FREER, _SHARPNESS = 2.0, 60, 25, 0.3
#: Sweeps from a draw that is kept to the next. By judgement.
_THIN = 4


@dataclass(frozen=True, eq=False)
class NominalDraws:
    """Draws of what items are in events, and of how frequent these are."""

    #: [n_draws, n_items, D, most categories]: logarithms of chances, minus infinity past an item's own.
    logs: NDArray[np.float32]
    #: [n_draws, D], logarithms.
    log_shares: Floats
    #: [n_items], how many categories an item has.
    widths: NDArray[np.int64]

    @property
    def n_draws(self) -> int:
        """Number of models kept."""
        return len(self.logs)

    def said(self, answers: Answers, items: Sequence[int], draws: Sequence[int] | None = None) -> list[Floats]:
        """Return, for each of some items, the probabilities of its answers; float64[n, width], means over draws.

        The other answers of a row count, that to the item itself does not.
        """
        chosen = range(self.n_draws) if draws is None else draws
        found = [np.zeros((len(answers), self.widths[i])) for i in items]
        for k in chosen:
            logs, whole = self.logs[k].astype(np.float64), self._weights(k, answers)
            for out, answered in zip(found, _known(answers, items), strict=True):
                i = answered[0]
                out += _others(whole, logs, *answered) @ np.exp(logs[i][:, : self.widths[i]]) / len(chosen)
        return found

    def events(self, answers: Answers, item: int, draws: Sequence[int]) -> Floats:
        """Return how probable each event is for rows in some draws, given all answers but that to an item.

        float64[n_draws, n, D].
        """
        answered = next(_known(answers, [item]))
        each = ((self._weights(k, answers), self.logs[k].astype(np.float64)) for k in draws)
        return np.stack([_others(whole, logs, *answered) for whole, logs in each])

    def drawn(self, k: int, answers: Answers, rng: np.random.Generator) -> Callable[[int], Floats]:
        """Draw the event of every row in one draw; return a function from an item to the chances of its answers there.

        What it says of two items of a row goes together, as answers do.
        """
        weights = self._weights(k, answers)
        upto = np.cumsum(np.exp(weights - weights.max(axis=1, keepdims=True)), axis=1)
        events = (rng.random(len(answers))[:, None] * upto[:, -1:] >= upto[:, :-1]).sum(axis=1)
        return lambda i: np.exp(self.logs[k, i, events, : self.widths[i]].astype(np.float64))

    def _weights(self, k: int, answers: Answers) -> Floats:
        """Return how probable each event is in one draw given all answers of a row: logarithms, up to a constant."""
        logs = self.logs[k].astype(np.float64)
        whole = np.tile(self.log_shares[k], (len(answers), 1))
        for i, known, own in _known(answers, range(len(self.widths))):
            whole[known] += logs[i][:, own].T
        return whole


def _known(answers: Answers, items: Sequence[int]) -> Iterator[tuple[int, NDArray[np.intp], Answers]]:
    """Yield items with the rows that answer them, and their answers."""
    for i in items:
        known = np.flatnonzero(answers[:, i] >= 0)
        yield i, known, answers[known, i]


def _others(whole: Floats, logs: Floats, i: int, known: NDArray[np.intp], own: Answers) -> Floats:
    """Return how probable each event is for rows given their answers but those to one item; `whole` is with it."""
    others = whole.copy()
    others[known] -= logs[i][:, own].T
    theta: Floats = np.exp(others - logsumexp(others, axis=1, keepdims=True))
    return theta


class NominalChain:
    """One chain: chances of answers given the users' events, events given chances, then shares and the prior."""

    def __init__(self, answers: Answers, widths: NDArray[np.int64], n_events: int, seed: int, dealer: Threads) -> None:
        self.by_users, self.by_items = np.ascontiguousarray(answers), np.ascontiguousarray(answers.T)
        self.widths, self.n_events, self.seed, self.dealer = widths, n_events, seed, dealer
        self.usual = usual_shares(answers, widths)
        self.weight = _WEIGHT
        rng = generator(seed, START)
        self.events = rng.integers(n_events, size=len(answers))
        self.log_shares = np.full(n_events, -np.log(n_events))
        self.logs = np.empty((len(widths), n_events, int(widths.max())))

    def sweep(self, index: int) -> None:
        """Draw everything once; `index` counts sweeps from 1."""
        rng = generator(self.seed, PRIORS, index)
        prior = self.weight * self.usual
        n_users, n_items = self.by_users.shape
        seeds = [
            row_seeds(self.seed, index, side, np.arange(n)) for side, n in ((ITEM_SIDE, n_items), (USER_SIDE, n_users))
        ]
        sharpness = min(1.0, _SHARPNESS + (1.0 - _SHARPNESS) * index / _FREER)
        events = np.empty_like(self.events)

        def item_share(first: int, last: int) -> None:
            given = (self.by_items, self.events, prior, self.widths, seeds[0][first:last])
            draw_chances(*given, first, last, self.logs)

        def user_share(first: int, last: int) -> None:
            given = (self.by_users, self.logs, self.log_shares, sharpness, seeds[1][first:last])
            draw_events(*given, first, last, events)

        self.dealer.deal(item_share, n_items, n_users)
        self.dealer.deal(user_share, n_users, n_items * self.n_events)
        self.events = events
        counts = np.bincount(events, minlength=self.n_events)
        # Events that are not needed are left by all users.
        self.log_shares = np.log(np.maximum(rng.dirichlet(1.0 / self.n_events + counts), LEAST))
        if index > _HELD:
            self.weight = redrawn_weight(self.logs, self.usual, rng)


def usual_shares(answers: Answers, widths: NDArray[np.int64]) -> Floats:
    """Return the share of each answer to each item, each counted once more; float64[n_items, most categories]."""
    shares = np.zeros((len(widths), int(widths.max())))
    for i, _, own in _known(answers, range(len(widths))):
        counts = np.bincount(own, minlength=widths[i]) + 1.0
        shares[i, : widths[i]] = counts / counts.sum()
    return shares


def redrawn_weight(logs: Floats, usual: Floats, rng: np.random.Generator) -> float:
    """Draw the weight of the prior of chances given these: one of a grid, all as likely beforehand."""
    chances = np.exp(weight_logs(logs, usual))
    return float(rng.choice(_WEIGHTS, p=chances / chances.sum()))


def weight_logs(logs: Floats, usual: Floats) -> Floats:
    """Return the logarithms of the density of chances given each weight of the grid, the largest 0."""
    there = usual > 0.0
    size = logs.shape[1]
    sums = logs.sum(axis=1)[there]
    parts = np.multiply.outer(_WEIGHTS, usual[there])
    # Every item in every event has a density of its own.
    found = size * (len(usual) * gammaln(_WEIGHTS) - gammaln(parts).sum(axis=1)) + (parts - 1.0) @ sums
    return np.asarray(found - found.max())


def nominal_draws(
    answers: Answers, widths: NDArray[np.int64], lengths: tuple[int, int, int, int], seed: int, dealer: Threads
) -> NominalDraws:
    """Run chains one after the other; `lengths` are the numbers of events, chains, sweeps not kept and draws kept."""
    n_events, n_chains, burn_in, n_samples = lengths
    logs = np.empty((n_chains * n_samples, len(widths), n_events, int(widths.max())), dtype=np.float32)
    shares = np.empty((n_chains * n_samples, n_events))
    for number in range(n_chains):
        chain = NominalChain(answers, widths, n_events, (seed * 1_000_003 + number) % 2**63, dealer)
        for index in range(1, burn_in + n_samples * _THIN + 1):
            chain.sweep(index)
            if index > burn_in and (index - burn_in) % _THIN == 0:
                kept = number * n_samples + (index - burn_in) // _THIN - 1
                logs[kept], shares[kept] = chain.logs, chain.log_shares
    return NominalDraws(logs, shares, widths)


def event_count(n_answers: int) -> int:
    """Return how many events so many answers are told by, where the number is left open."""
    return min(max(round(8.0 * (n_answers / 5000.0) ** 0.3), 4), 24)
