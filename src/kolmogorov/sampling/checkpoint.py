"""The state of all chains, from which killed sampling goes on to the same draws."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from kolmogorov._support import container
from kolmogorov.data import Observations
from kolmogorov.errors import FileFormatError, InvariantError
from kolmogorov.fitting.descent.checkpoint import check_identity
from kolmogorov.sampling.chains.source import chain_kind
from kolmogorov.sampling.chains.state import ChainState, Sample, SamplerState
from kolmogorov.sampling.features import Features
from kolmogorov.sampling.plan import Plan
from kolmogorov.sampling.priors import PsiPrior, ThetaPrior, with_ones

KIND = "chains"


class ChainCheckpoint:
    """A file that holds the last whole state of one particular sampling.

    The `identity` is a digest of the data and of what shapes the chains; a file of another run is refused. A seed must
    be the file's; None takes up the file's.
    """

    #: Seconds between two writings.
    pause = 10.0

    def __init__(self, path: str | os.PathLike[str], identity: str, seed: int | None) -> None:
        self.path = Path(path)
        self.identity = identity
        self.seed = seed

    def write(self, progress: SamplerState) -> None:
        """Replace the file."""
        states = [_state_numbers(state) for state in progress.current]
        samples = [sample for chain in progress.samples for sample in chain]
        meta = {
            "identity": self.identity,
            "seed": progress.seed,
            "chain": progress.chain,
            "sweep": progress.sweep,
            "priors": [sample.priors for sample in samples],
            "current": states,
        }
        arrays: dict[str, np.ndarray] = {}
        for k, sample in enumerate(samples):
            arrays |= {f"theta{k}": sample.theta, f"psi{k}": sample.psi, f"noise{k}": sample.noise}
        for k, state in enumerate(progress.current):
            arrays |= {f"{name}.{k}": array for name, array in _state_arrays(state).items()}
        container.write(self.path, KIND, meta, arrays)

    def read(self, features: Features, table: Observations, plan: Plan) -> SamplerState | None:
        """Return the state to go on from, or None where there is no file yet."""
        if not self.path.exists():
            return None
        contents, arrays = container.read(self.path, (KIND,))
        check_identity(contents, self.path, self.identity, self.seed)
        try:
            progress = _restored(contents.meta, arrays, features, plan)
            _validate(progress, table, plan)
        except container.DAMAGE as error:
            raise FileFormatError(f"{self.path} is malformed: {error}.") from None
        return progress


def _state_numbers(state: ChainState) -> dict[str, float]:
    own = {"scale": state.scale, "shape": state.shape}
    return own | {"concentration": state.theta_prior.concentration}


def _state_arrays(state: ChainState) -> dict[str, np.ndarray]:
    theta, psi = state.theta_prior, state.psi_prior
    own = {"theta": state.theta, "psi": state.psi, "noise": state.noise, "alpha": state.alpha}
    of_theta = {"mean": theta.mean, "slopes": theta.slopes, "prior_draws": theta.prior_draws}
    return own | of_theta | {"item_slopes": psi.slopes, "item_precision": psi.precision}


def _restored(meta: dict[str, Any], arrays: dict[str, np.ndarray], features: Features, plan: Plan) -> SamplerState:
    numbers = meta["current"]
    current = [_restored_state(own, _belonging(arrays, f".{k}"), features) for k, own in enumerate(numbers)]
    samples = []
    for k, priors in enumerate(meta["priors"]):
        values = {str(name): float(value) for name, value in priors.items()}
        samples.append(Sample(arrays[f"theta{k}"], arrays[f"psi{k}"], arrays[f"noise{k}"], values))
    return SamplerState(
        meta["seed"], _by_chain(samples, meta["chain"], len(current), plan), meta["chain"], meta["sweep"], current
    )


def _belonging(arrays: dict[str, np.ndarray], end: str) -> dict[str, np.ndarray]:
    return {name.removesuffix(end): array for name, array in arrays.items() if name.endswith(end)}


def _restored_state(numbers: dict[str, Any], arrays: dict[str, np.ndarray], features: Features) -> ChainState:
    concentration = float(numbers["concentration"])
    return ChainState(
        theta=arrays["theta"],
        psi=arrays["psi"],
        noise=arrays["noise"],
        psi_prior=PsiPrior(
            with_ones(features.items), arrays["item_slopes"], arrays["item_precision"], features.item_blocks
        ),
        theta_prior=ThetaPrior(
            features.users,
            arrays["mean"],
            arrays["slopes"],
            concentration,
            arrays["prior_draws"],
            features.user_blocks,
        ),
        scale=float(numbers["scale"]),
        alpha=arrays["alpha"],
        shape=float(numbers["shape"]),
    )


def _by_chain(samples: list[Sample], through: Any, under_way: int, plan: Plan) -> list[list[Sample]]:
    """Deal draws to their chains: whole ones first, then those under way, which have as many each."""
    if type(through) is not int or not 0 <= through <= plan.n_chains:
        raise InvariantError("its number of chains is wrong")
    whole, rest = samples[: through * plan.n_samples], samples[through * plan.n_samples :]
    if len(whole) < through * plan.n_samples or (rest and (not under_way or len(rest) % under_way)):
        raise InvariantError("its draws and its chains do not belong together")
    each = len(rest) // under_way if under_way else 0
    return [whole[k * plan.n_samples : (k + 1) * plan.n_samples] for k in range(through)] + [
        rest[k * each : (k + 1) * each] for k in range(under_way)
    ]


def _validate(progress: SamplerState, table: Observations, plan: Plan) -> None:
    """Check that sampling can go on from here: compiled code relies on the arrays, loops on the numbers."""
    whole = all(type(n) is int and n >= 0 for n in (progress.seed, progress.chain, progress.sweep))
    kept = max(progress.sweep - plan.burn_in, 0) // plan.thin if whole else -1
    if (
        not whole
        or progress.chain + len(progress.current) > plan.n_chains
        or any(len(chain) != kept for chain in progress.samples[progress.chain :])
        or progress.sweep > plan.n_sweeps
        or bool(progress.current) != (progress.sweep > 0)
    ):
        raise InvariantError("its draws and the place of its chains do not belong together")
    samples = [sample for chain in progress.samples for sample in chain]
    if any(set(sample.priors) != set(chain_kind(plan).prior_names) for sample in samples):
        raise InvariantError("its draws do not have the priors of their kind")
    states: list[Sample | ChainState] = [*samples, *progress.current]
    for state in states:
        state.validate(table.n_users, table.n_items, plan.n_events, plan.levels)
