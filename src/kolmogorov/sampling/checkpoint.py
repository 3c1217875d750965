"""The state of all chains, from which killed sampling goes on to the same draws."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kolmogorov._support import container
from kolmogorov._support.invariants import check_bits
from kolmogorov.data import Observations
from kolmogorov.errors import FileFormatError, InvariantError
from kolmogorov.fitting.checkpoint import check_identity
from kolmogorov.sampling.chain import ChainState, Sample
from kolmogorov.sampling.plan import Plan
from kolmogorov.sampling.priors import ItemPrior, UserPrior

KIND = "chains"


@dataclass
class SamplerState:
    """Draws kept so far, and where sampling is: the chain, its last sweep, and its state after it."""

    seed: int
    samples: list[Sample] = field(default_factory=list)
    chain: int = 0
    sweep: int = 0
    current: ChainState | None = None


class ChainCheckpoint:
    """A file that holds the last whole state of one particular sampling.

    Parameters
    ----------
    path : path
    identity : str
        Digest of the data and of the parameters that shape the chains; a file of another run is refused.
    seed : int or None
        The seed, which must be the file's; None takes up the file's.
    """

    def __init__(self, path: str | os.PathLike[str], identity: str, seed: int | None) -> None:
        self.path = Path(path)
        self.identity = identity
        self.seed = seed

    def write(self, progress: SamplerState) -> None:
        """Replace the file."""
        meta = {
            "identity": self.identity,
            "seed": progress.seed,
            "chain": progress.chain,
            "sweep": progress.sweep,
            "priors": [sample.priors for sample in progress.samples],
            "current": None,
        }
        arrays: dict[str, np.ndarray] = {}
        for k, sample in enumerate(progress.samples):
            arrays |= {f"theta{k}": sample.theta, f"psi{k}": sample.psi.astype(np.uint8), f"noise{k}": sample.noise}
        if progress.current is not None:
            state = progress.current
            meta["current"] = {"scale": state.scale, "concentration": state.users.concentration}
            arrays |= {"theta": state.theta, "psi": state.psi, "noise": state.noise, "alpha": state.alpha}
            arrays |= {"bucket": state.items.bucket, "member": state.items.member, "frequency": state.items.frequency}
            arrays |= {"mean": state.users.mean, "slopes": state.users.slopes, "prior_draws": state.users.prior_draws}
        container.write(self.path, KIND, meta, arrays)

    def read(self, features: np.ndarray, table: Observations, plan: Plan) -> SamplerState | None:
        """Return the state to go on from, or None where there is no file yet."""
        if not self.path.exists():
            return None
        contents, arrays = container.read(self.path, (KIND,))
        check_identity(contents, self.path, self.identity, self.seed)
        try:
            progress = _restored(contents.meta, arrays, features)
            _validate(progress, table, plan)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise FileFormatError(f"{self.path} is malformed: {error}.") from None
        return progress


def _restored(meta: dict[str, Any], arrays: dict[str, np.ndarray], features: np.ndarray) -> SamplerState:
    current = None
    if meta["current"] is not None:
        items = ItemPrior(arrays["bucket"], arrays["member"], arrays["frequency"])
        users = UserPrior(
            features, arrays["mean"], arrays["slopes"], float(meta["current"]["concentration"]), arrays["prior_draws"]
        )
        scale = float(meta["current"]["scale"])
        current = ChainState(arrays["theta"], arrays["psi"], arrays["noise"], items, users, scale, arrays["alpha"])
    samples = []
    for k, priors in enumerate(meta["priors"]):
        check_bits(f"psi{k}", arrays[f"psi{k}"])
        numbers = {str(name): float(value) for name, value in priors.items()}
        samples.append(Sample(arrays[f"theta{k}"], arrays[f"psi{k}"] > 0, arrays[f"noise{k}"], numbers))
    return SamplerState(meta["seed"], samples, meta["chain"], meta["sweep"], current)


def _validate(progress: SamplerState, table: Observations, plan: Plan) -> None:
    """Check that sampling can go on from here: compiled code relies on the arrays, loops on the numbers."""
    whole = all(type(n) is int and n >= 0 for n in (progress.seed, progress.chain, progress.sweep))
    under_way = len(progress.samples) - progress.chain * plan.n_samples if whole else -1
    if (
        not whole
        or progress.chain > plan.n_chains
        or under_way != max(progress.sweep - plan.burn_in, 0) // plan.thin
        or progress.sweep > plan.n_sweeps
        or (progress.current is None) != (progress.sweep == 0)
    ):
        raise InvariantError("its draws and the place of its chain do not belong together")
    if any(set(sample.priors) != set(plan.prior_names) for sample in progress.samples):
        raise InvariantError("its draws do not have the priors of their kind")
    states: list[Sample | ChainState] = [*progress.samples]
    for state in states if progress.current is None else [*states, progress.current]:
        state.validate(table.n_users, table.n_items, plan.n_events)
    if progress.current is not None and len(progress.current.items.frequency) != plan.n_classes:
        raise InvariantError("its number of classes is wrong")
