"""The state of a fit after every sweep, from which a killed fit goes on to the same bits."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic

from numpy.typing import NDArray

from kolmogorov._support import container
from kolmogorov.errors import FileFormatError, InvariantError
from kolmogorov.fitted.point import history_array, history_of
from kolmogorov.fitting.descent.state import Run, S, State

KIND = "checkpoint"


@dataclass(frozen=True, eq=False)
class FitProgress(Generic[S]):
    """A fit under way: its seed, the descent in hand (`init` counts them from 0) and the best finished one."""

    seed: int
    init: int
    current: Run[S]
    best: Run[State] | None = field(default=None)


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A file that always holds the last whole `FitProgress` of one particular fit.

    Attributes
    ----------
    path : Path
    identity : str
        Digest of the data and of the parameters that shape the fit. A file of another fit is refused.
    seed : int or None
        The seed, which must be the file's; None takes up the file's, whatever it is.
    shape : (int, int, int)
        Users, items, events. Compiled code relies on the arrays having it.
    binary : bool
        Whether psi holds bits.
    n_init : int
        Number of descents of the fit.
    """

    path: Path
    identity: str
    seed: int | None
    shape: tuple[int, int, int]
    binary: bool
    n_init: int

    def write(self, progress: FitProgress[State]) -> None:
        """Replace the file."""
        meta = {"identity": self.identity, "seed": progress.seed, "init": progress.init}
        arrays = {}
        for name, run in (("current", progress.current), ("best", progress.best)):
            if run is not None:
                arrays[f"{name}_history"] = history_array(run.history)
                arrays[f"{name}_theta"] = run.state.theta
                arrays[f"{name}_psi"] = run.state.psi
                arrays[f"{name}_centre"] = run.state.centre
        container.write(self.path, KIND, meta, arrays)

    def read(self) -> FitProgress[State] | None:
        """Return the state to go on from, or None where there is no file yet."""
        if not self.path.exists():
            return None
        contents, arrays = container.read(self.path, (KIND,))
        check_identity(contents, self.path, self.identity, self.seed)
        try:
            return self._progress(contents.meta, arrays)
        except container.DAMAGE as error:
            raise FileFormatError(f"{self.path} is malformed: {error}.") from None

    def _progress(self, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> FitProgress[State]:
        seed, init = meta["seed"], meta["init"]
        if type(seed) is not int or not 0 <= seed < 2**63 or type(init) is not int or not 0 <= init < self.n_init:
            raise InvariantError("its seed or its start is not valid")
        runs = {}
        for name in ("current", "best") if "best_theta" in arrays else ("current",):
            run = Run(
                State(arrays[f"{name}_theta"], arrays[f"{name}_psi"], arrays[f"{name}_centre"]),
                history_of(arrays[f"{name}_history"]),
            )
            run.state.validate(*self.shape, binary=self.binary)
            runs[name] = run
        return FitProgress(seed, init, runs["current"], runs.get("best"))


def check_identity(contents: container.Contents, path: Path, identity: str, seed: int | None) -> None:
    """Refuse the checkpoint of another fit."""
    if contents.meta.get("identity") != identity or seed not in (None, contents.meta.get("seed")):
        raise FileFormatError(
            f"{path} is the checkpoint of another fit (other data, parameters or seed). Delete it or choose another "
            "path."
        )
