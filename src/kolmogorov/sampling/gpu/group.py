"""Chains that run all at once on a GPU, as many as its memory holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kolmogorov.execution import Cuda, Threads
from kolmogorov.sampling.chains.chain import Chain
from kolmogorov.sampling.chains.discrete import DiscreteChain
from kolmogorov.sampling.chains.gaussian import GaussianChain
from kolmogorov.sampling.chains.probit import ProbitChain
from kolmogorov.sampling.chains.source import ChainSource
from kolmogorov.sampling.chains.start import started
from kolmogorov.sampling.chains.state import SamplerState
from kolmogorov.sampling.gpu.chain import GpuChains, fitting_chains
from kolmogorov.sampling.gpu.discrete import DiscreteGpuChains
from kolmogorov.sampling.gpu.gaussian import GaussianGpuChains
from kolmogorov.sampling.gpu.probit import ProbitGpuChains

_KINDS: dict[type[Chain], type[GpuChains[Any]]] = {
    GaussianChain: GaussianGpuChains,
    ProbitChain: ProbitGpuChains,
    DiscreteChain: DiscreteGpuChains,
}


@contextmanager
def gpu_group(cuda: Cuda, source: ChainSource, progress: SamplerState) -> Iterator[GpuChains[Any]]:
    """Open as many chains as the GPU's memory holds; they start on the host, on all its threads."""
    with Threads(-1) as dealer:
        first = source.chain(progress.chain, dealer)
        kind = _KINDS[type(first)]
        at_once = fitting_chains(cuda, first, kind.scratch_bytes)
        numbers = progress.next_numbers(source.plan.n_chains, at_once=at_once)
        chains = [first, *(source.chain(number, dealer) for number in numbers[1:])]
        states = progress.current or started(chains, dealer)
    with cuda.guarded("Run fewer chains at once: execution=Cuda(memory=...) with less than is free."):
        yield kind(cuda, chains, states)
