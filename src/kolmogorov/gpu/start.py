"""Where chains on a GPU start: as on threads, from factors, which are drawn there."""

from dataclasses import replace
from typing import Any

import numpy as np

from kolmogorov._support.seeds import generator
from kolmogorov._support.threads import Threads
from kolmogorov._support.typing import Floats
from kolmogorov.draws.chain import START, ChainSource
from kolmogorov.draws.start import LINE, FactorChain, Factors, from_factors, plain_start
from kolmogorov.errors import ExecutionError, ParameterError
from kolmogorov.gpu.cuda import Cuda
from kolmogorov.gpu.draws import ChainSide, GpuChains, sent

#: The most events: a row's equations lie in the memory that a block shares.
_MOST_EVENTS = 64
#: Share by which a diagonal is raised, so that a matrix stays positive definite whose sums were rounded.
_RAISED = 1e-6


def gpu_chains(cuda: Cuda, source: ChainSource, number: int) -> GpuChains:
    """Start as many chains as the GPU's memory holds, from that of a number on; as `draws.start.started` does."""
    dealer, plan, table, known = Threads(1), source.plan, source.table, source.features
    first = source.chain(number, dealer)
    if plan.n_events > _MOST_EVENTS:
        raise ParameterError(f"On a GPU models are drawn with at most {_MOST_EVENTS} events, got {plan.n_events}.")
    fixed, budget = 24 * len(table) + 4 * (known.users.size + known.items.size), cuda.budget()
    # In float64 where rows are summed over, and where they are put on a grid.
    own = (28 * plan.n_events + 12) * table.n_users + 13 * plan.n_events * table.n_items
    # The ratings behind an answer, by users and by items.
    own += 8 * len(table) if first.kind.hidden else 0
    if fixed + own > budget:
        raise ExecutionError(
            f"A chain of this table takes {(fixed + own) / 1e9:,.1f} GB of the GPU's memory, of which "
            f"{budget / 1e9:,.1f} GB may be used. Take fewer events (n_events), or leave out 'execution'."
        )
    last = min(number + (budget - fixed) // own, plan.n_chains)
    chains = [first, *(source.chain(k, dealer) for k in range(number + 1, last))]
    plain = [plain_start(chain) for chain in chains]
    batch = GpuChains(cuda, chains, plain)
    if first.n_events > 1 and not first.unobserved:
        rngs = [generator(chain.seed, START, 1) for chain in chains]
        drawing = FactorDrawing(batch, [FactorChain(*given) for given in zip(chains, rngs, strict=True)])
        found = zip(chains, drawing.settled(), rngs, strict=True)
        batch.take([from_factors(*given) for given in found])
    return batch


class FactorDrawing:
    """Factors of several chains, drawn in step: those of users are where thetas are, those of items where psis are.

    They are drawn as by `FactorChain`, from streams of their own; a chain of it for each draws the few numbers.
    """

    def __init__(self, batch: GpuChains, hosts: list[FactorChain]) -> None:
        self.batch, self.hosts, cuda = batch, hosts, batch.cuda
        now = [host.factors for host in hosts]
        batch.theta, batch.psi = (sent(cuda, [getattr(one, side) for one in now]) for side in ("users", "items"))
        batch.slopes = np.array([one.prior.slopes for one in now])
        batch.precision = np.array([one.prior.precision for one in now])
        self.noise = np.array([one.noise for one in now])
        self.seeds = sent(cuda, [host.seed for host in hosts], np.uint64)
        self.random = [cuda.cupy.random.default_rng(host.seed) for host in hosts]
        counts = batch.chains[0].observations.columns.counts
        self.owners = sent(cuda, np.repeat(np.arange(counts.size), counts), np.int32)

    def sweep(self, index: int) -> None:
        """Draw the ratings behind answers where there are any, items, users, the noise and the prior of items."""
        batch, hosts = self.batch, self.hosts
        if batch.hidden:
            batch.draw_answers(index, self.seeds)
            self._stretch()
        pull, xp = batch.cuda.cupy.asarray(batch.precision), batch.cuda.cupy
        tilt = batch.items.features.astype(np.float64) @ xp.asarray(batch.slopes @ batch.precision)
        batch.psi, _ = self.drawn(batch.items, batch.theta, pull, tilt)
        batch.theta, squares = self.drawn(batch.users, batch.psi, xp.eye(batch.size - 1)[None], None)
        squares = xp.asnumpy(batch.squares.sum() + squares)
        self.noise = np.array([host.drawn_noise(float(left)) for host, left in zip(hosts, squares, strict=True)])
        batch.learn_psi_priors([host.rng for host in hosts], hosts[0].variance)

    def drawn(self, side: ChainSide, partners: Any, pull: Any, tilt: Any) -> tuple[Any, Any]:
        """Draw the rows of a side, and sum the squares of what they leave, but for those of answers themselves.

        A prior has the precision `pull`, and means whose products with it are `tilt`; without these, the first factor
        is 1.
        """
        batch, xp = self.batch, self.batch.cuda.cupy
        first, noise = int(tilt is None), xp.asarray(self.noise)[:, None, None]
        size = batch.size - first
        normals = xp.stack([random.standard_normal((side.n_rows, size)) for random in self.random])
        out, squares = xp.ones((len(batch), side.n_rows, batch.size)), xp.zeros(len(batch))
        for rows, gram, moment in batch.summed(side, partners):
            q = (gram[..., first:, first:] / noise[..., None] + pull[:, None]) * (1.0 + _RAISED * xp.eye(size))
            w = (moment[..., first:] - (gram[..., first:, 0] if first else 0.0)) / noise
            w = w if first else w + tilt[:, rows]
            # With Q = L L^T: L^-T (L^-1 w + z).
            back = xp.linalg.inv(xp.linalg.cholesky(q))
            out[:, rows, first:] = _times(xp.swapaxes(back, -1, -2), _times(back, w) + normals[:, rows])
            squares += _left(out[:, rows], gram, moment).sum(axis=1)
        return out.astype(np.float32), squares

    def _stretch(self) -> None:
        """Stretch ratings and items away from the line, as `FactorChain` does."""
        batch, xp, psi = self.batch, self.batch.cuda.cupy, self.batch.psi.astype(np.float64)
        users, items = batch.users, batch.items
        weights = items.weights if items.weighted else 1.0
        # Sums over the entries of items: differences of cumulated ones.
        ends = xp.zeros((len(batch), items.apart + 1))
        ends[:, 1:] = xp.cumsum(items.answers.astype(np.float64) ** 2 * weights, axis=1)
        left = ends[:, items.indptr[1:]] - ends[:, items.indptr[:-1]]
        for rows, gram, moment in batch.summed(items, batch.theta):
            left[:, rows] += _left(psi[:, rows], gram, moment)
        self._told(xp.asnumpy(psi))
        drawn = [host.drawn_stretch(own) for host, own in zip(self.hosts, xp.asnumpy(left), strict=True)]
        stretch = xp.asarray(np.array(drawn))
        psi *= stretch[..., None]
        psi[..., 0] += LINE * (1.0 - stretch)
        batch.psi = psi.astype(np.float32)
        for side, whose in ((items, self.owners), (users, users.indices)):
            side.answers = (LINE + (side.answers - LINE) * stretch[:, whose]).astype(np.float32)

    def _told(self, items: Floats) -> None:
        """Tell the chains on the host of items and their prior."""
        for k, host in enumerate(self.hosts):
            prior = replace(host.factors.prior, slopes=self.batch.slopes[k], precision=self.batch.precision[k])
            host.factors = replace(host.factors, items=items[k], prior=prior, noise=float(self.noise[k]))

    def settled(self) -> list[Factors]:
        """Return the factors of all chains when they have settled."""
        for index in range(self.hosts[0].n_sweeps):
            self.sweep(index)
        numpy = self.batch.cuda.cupy.asnumpy
        theta, psi = numpy(self.batch.theta).astype(np.float64), numpy(self.batch.psi).astype(np.float64)
        self._told(psi)
        return [replace(host.factors, users=users) for host, users in zip(self.hosts, theta, strict=True)]


def _times(matrices: Any, vectors: Any) -> Any:
    return (matrices @ vectors[..., None])[..., 0]


def _left(x: Any, gram: Any, moment: Any) -> Any:
    """Return what rows leave of the squares of their answers, less these squares."""
    return (x * (_times(gram, x) - 2.0 * moment)).sum(axis=-1)
