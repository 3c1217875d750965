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
from kolmogorov.sampling.chain import Link, Sample
from kolmogorov.sampling.plan import Plan
from kolmogorov.sampling.priors import ItemPrior, UserPrior

KIND = "chains"


@dataclass
class Kept:
    """Draws kept so far, and where sampling is: the chain, its last sweep, and its state after it."""

    seed: int
    samples: list[Sample] = field(default_factory=list)
    chain: int = 0
    sweep: int = 0
    current: Link | None = None


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

    def write(self, kept: Kept) -> None:
        """Replace the file."""
        meta = {
            "identity": self.identity,
            "seed": kept.seed,
            "chain": kept.chain,
            "sweep": kept.sweep,
            "priors": [sample.priors for sample in kept.samples],
            "current": None,
        }
        arrays: dict[str, np.ndarray] = {}
        for k, sample in enumerate(kept.samples):
            arrays |= {f"theta{k}": sample.theta, f"psi{k}": sample.psi.astype(np.uint8), f"noise{k}": sample.noise}
        if kept.current is not None:
            link = kept.current
            meta["current"] = {"scale": link.scale, "concentration": link.users.concentration}
            arrays |= {"theta": link.theta, "psi": link.psi, "noise": link.noise, "alpha": link.alpha}
            arrays |= {"bucket": link.items.bucket, "member": link.items.member, "frequency": link.items.frequency}
            arrays |= {"mean": link.users.mean, "slopes": link.users.slopes, "fantasy": link.users.fantasy}
        container.write(self.path, KIND, meta, arrays)

    def read(self, features: np.ndarray, table: Observations, plan: Plan) -> Kept | None:
        """Return the state to go on from, or None where there is no file yet."""
        if not self.path.exists():
            return None
        contents, arrays = container.read(self.path, (KIND,))
        check_identity(contents, self.path, self.identity, self.seed)
        try:
            kept = _restored(contents.meta, arrays, features)
            _validate(kept, table, plan)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise FileFormatError(f"{self.path} is malformed: {error}.") from None
        return kept


def _restored(meta: dict[str, Any], arrays: dict[str, np.ndarray], features: np.ndarray) -> Kept:
    current = None
    if meta["current"] is not None:
        items = ItemPrior(arrays["bucket"], arrays["member"], arrays["frequency"])
        users = UserPrior(
            features, arrays["mean"], arrays["slopes"], float(meta["current"]["concentration"]), arrays["fantasy"]
        )
        scale = float(meta["current"]["scale"])
        current = Link(arrays["theta"], arrays["psi"], arrays["noise"], items, users, scale, arrays["alpha"])
    samples = []
    for k, priors in enumerate(meta["priors"]):
        check_bits(f"psi{k}", arrays[f"psi{k}"])
        numbers = {str(name): float(value) for name, value in priors.items()}
        samples.append(Sample(arrays[f"theta{k}"], arrays[f"psi{k}"] > 0, arrays[f"noise{k}"], numbers))
    return Kept(meta["seed"], samples, meta["chain"], meta["sweep"], current)


def _validate(kept: Kept, table: Observations, plan: Plan) -> None:
    """Check that sampling can go on from here: compiled code relies on the arrays, loops on the numbers."""
    whole = all(type(n) is int and n >= 0 for n in (kept.seed, kept.chain, kept.sweep))
    under_way = len(kept.samples) - kept.chain * plan.n_samples if whole else -1
    if (
        not whole
        or kept.chain > plan.n_chains
        or under_way != max(kept.sweep - plan.burn_in, 0) // plan.thin
        or kept.sweep > plan.n_sweeps
        or (kept.current is None) != (kept.sweep == 0)
    ):
        raise InvariantError("its draws and the place of its chain do not belong together")
    if any(set(sample.priors) != set(plan.prior_names) for sample in kept.samples):
        raise InvariantError("its draws do not have the priors of their kind")
    states: list[Sample | Link] = [*kept.samples]
    for state in states if kept.current is None else [*states, kept.current]:
        state.validate(table.n_users, table.n_items, plan.n_events)
    if kept.current is not None and len(kept.current.items.frequency) != plan.n_classes:
        raise InvariantError("its number of classes is wrong")
