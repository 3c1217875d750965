"""The state of a fit after every sweep, from which a killed fit goes on to the same bits."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from kolmogorov.errors import FileFormatError
from kolmogorov.model import archive
from kolmogorov.model.engine import State
from kolmogorov.model.history import Sweep

KIND = "checkpoint"


@dataclass(frozen=True, eq=False)
class Run:
    """One descent: where it is, and how it came there."""

    state: State
    history: tuple[Sweep, ...] = ()

    @property
    def objective(self) -> float:
        """The objective reached; infinite before the first sweep."""
        return self.history[-1].objective if self.history else float("inf")


@dataclass(frozen=True, eq=False)
class Progress:
    """A fit under way: its seed, the descent in hand (`init` counts them from 0) and the best finished one."""

    seed: int
    init: int
    current: Run
    best: Run | None = field(default=None)


class Checkpoint:
    """A file that always holds the last whole `Progress` of one particular fit.

    Parameters
    ----------
    path : path
    identity : str
        Digest of the data and of the parameters that shape the fit. A file of another fit is refused.
    seed : int or None
        The seed, which must be the file's; None takes up the file's, whatever it is.
    shape : (int, int, int)
        Users, items, events. Compiled code relies on the arrays having it.
    """

    def __init__(
        self, path: str | os.PathLike[str], identity: str, seed: int | None, shape: tuple[int, int, int]
    ) -> None:
        self.path = Path(path)
        self.identity = identity
        self.seed = seed
        self.shape = shape

    def write(self, progress: Progress) -> None:
        """Replace the file."""
        meta = {"identity": self.identity, "seed": progress.seed, "init": progress.init, "runs": {}}
        arrays = {}
        for name, run in (("current", progress.current), ("best", progress.best)):
            if run is not None:
                meta["runs"][name] = [asdict(sweep) for sweep in run.history]  # type: ignore[index]
                arrays[f"{name}_theta"] = run.state.theta
                arrays[f"{name}_psi"] = run.state.psi
                arrays[f"{name}_centre"] = run.state.centre
        archive.write(self.path, KIND, meta, arrays)

    def read(self) -> Progress | None:
        """Return the state to go on from, or None where there is no file yet."""
        if not self.path.exists():
            return None
        _, meta, arrays = archive.read(self.path, (KIND,))
        if meta.get("identity") != self.identity or self.seed not in (None, meta.get("seed")):
            raise FileFormatError(
                f"{self.path} is the checkpoint of another fit (other data, parameters or seed). Delete it or choose "
                "another path."
            )
        n_users, n_items, size = self.shape
        runs = {}
        try:
            for name, history in meta["runs"].items():
                state = State(arrays[f"{name}_theta"], arrays[f"{name}_psi"], arrays[f"{name}_centre"])
                parts = ((state.theta, (n_users, size)), (state.psi, (n_items, size)), (state.centre, (size,)))
                if any(part.shape != shape or part.dtype != np.float64 for part, shape in parts):
                    raise ValueError("its arrays have the wrong shape or type")
                runs[name] = Run(state, tuple(Sweep(**sweep) for sweep in history))
            return Progress(int(meta["seed"]), int(meta["init"]), runs["current"], runs.get("best"))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileFormatError(f"{self.path} is malformed: {error}.") from None
