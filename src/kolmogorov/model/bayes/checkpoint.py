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
        extra = len(kept.samples) - kept.chain * n_samples
        if (
            not _fits(kept, table.n_users, table.n_items, features.shape[1])
            or not 0 <= kept.chain <= n_chains
            or not 0 <= extra < max(n_samples, 1)
        ):
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


def _fits(kept: Kept, n_users: int, n_items: int, n_features: int) -> bool:
    """Whether all arrays have the shapes and the types that compiled code relies on."""
    states: list[Sample | Link] = [*kept.samples, *([kept.current] if kept.current is not None else [])]
    if not states:
        return True
    size = states[0].theta.shape[-1]
    expected: list[tuple[np.ndarray, tuple[int, ...], type]] = []
    for state in states:
        expected += [(state.theta, (n_users, size), np.float64), (state.noise, (n_users,), np.float64)]
        expected += [(state.psi, (n_items, size), np.bool_ if isinstance(state, Sample) else np.float64)]
    link = kept.current
    if link is not None:
        n_classes = len(link.items.frequency)
        rows = (n_items,)
        expected += [(link.items.bucket, rows, np.int64), (link.items.member, rows, np.int64)]
        expected += [(link.items.frequency, (n_classes, size), np.float64), (link.alpha, (size,), np.float64)]
        expected += [(link.users.mean, (size,), np.float64), (link.users.slopes, (n_features, size), np.float64)]
        expected += [(link.users.fantasy, (len(link.users.fantasy), size), np.float64)]
        if link.items.member.size and not 0 <= link.items.member.min() <= link.items.member.max() < n_classes:
            return False
        if link.items.bucket.size and not 0 <= link.items.bucket.min() <= link.items.bucket.max() < n_items:
            return False
    return all(array.shape == shape and array.dtype == kind for array, shape, kind in expected)
