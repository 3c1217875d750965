"""The state of all chains, from which killed sampling goes on to the same draws."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kolmogorov.data import Observations
from kolmogorov.errors import FileFormatError
from kolmogorov.model import archive
from kolmogorov.model.bayes.chain import Link, Sample
from kolmogorov.model.bayes.priors import ItemPrior, UserPrior

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
            "kept": len(kept.samples),
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
        archive.write(self.path, KIND, meta, arrays)

    def read(self, features: np.ndarray, table: Observations, n_chains: int, n_samples: int) -> Kept | None:
        """Return the state to go on from, or None where there is no file yet."""
        if not self.path.exists():
            return None
        _, meta, arrays = archive.read(self.path, (KIND,))
        if meta.get("identity") != self.identity or self.seed not in (None, meta.get("seed")):
            raise FileFormatError(
                f"{self.path} is the checkpoint of another fit (other data, parameters or seed). Delete it or choose "
                "another path."
            )
        try:
            kept = _restored(meta, arrays, features)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise FileFormatError(f"{self.path} is malformed: {type(error).__name__}: {error}.") from None
        states: list[Sample | Link] = [*kept.samples, *([kept.current] if kept.current is not None else [])]
        fits = all(len(state.theta) == table.n_users and len(state.psi) == table.n_items for state in states)
        extra = len(kept.samples) - kept.chain * n_samples
        if not fits or not 0 <= kept.chain <= n_chains or not 0 <= extra < max(n_samples, 1):
            raise FileFormatError(f"{self.path} is malformed: its draws do not belong together.")
        return kept


def _restored(meta: dict[str, Any], arrays: dict[str, np.ndarray], features: np.ndarray) -> Kept:
    current = None
    if meta["current"] is not None:
        items = ItemPrior(arrays["bucket"], arrays["member"], arrays["frequency"])
        users = UserPrior(
            features, arrays["mean"], arrays["slopes"], meta["current"]["concentration"], arrays["fantasy"]
        )
        current = Link(
            arrays["theta"], arrays["psi"], arrays["noise"], items, users, meta["current"]["scale"], arrays["alpha"]
        )
    samples = [
        Sample(arrays[f"theta{k}"], arrays[f"psi{k}"] > 0, arrays[f"noise{k}"]) for k in range(int(meta["kept"]))
    ]
    return Kept(meta["seed"], samples, int(meta["chain"]), int(meta["sweep"]), current)
