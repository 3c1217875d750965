"""The state of a descent over ratings after every sweep, from which a killed fit goes on to the same bits."""

from __future__ import annotations

from dataclasses import dataclass
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
    best: Run[State] | None = None


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A file that always holds the last whole `FitProgress` of one particular fit."""

    path: Path
    #: Digest of the data and of the parameters that shape the fit. A file of another fit is refused.
    identity: str
    #: It must be the file's; None takes up the file's, whatever it is.
    seed: int | None
    #: Users, items, events: compiled code relies on the arrays having it.
    shape: tuple[int, int, int]
    binary: bool
    n_init: int

    def write(self, progress: FitProgress[State]) -> None:
        """Replace the file."""
        meta = {"identity": self.identity, "seed": progress.seed, "init": progress.init}
        arrays: dict[str, NDArray[Any]] = {}
        for name, run in (("current", progress.current), ("best", progress.best)):
            if run is not None:
                arrays |= {f"{name}_{part}": array for part, array in vars(run.state).items()}
                arrays[f"{name}_history"] = history_array(run.history)
        container.write(self.path, KIND, meta, arrays)

    def read(self) -> FitProgress[State] | None:
        """Return the state to go on from, or None where there is no file yet."""
        if not self.path.exists():
            return None
        contents, arrays = container.read(self.path, (KIND,))
        meta = contents.meta
        if meta.get("identity") != self.identity or self.seed not in (None, meta.get("seed")):
            raise FileFormatError(
                f"{self.path} is the checkpoint of another fit (other data, parameters or seed). Delete it or choose "
                "another path."
            )
        try:
            seed, init = meta["seed"], meta["init"]
            if type(seed) is not int or not 0 <= seed < 2**63 or type(init) is not int or not 0 <= init < self.n_init:
                raise InvariantError("its seed or its start is not valid")
            best = self._run("best", arrays) if "best_theta" in arrays else None
            return FitProgress(seed, init, self._run("current", arrays), best)
        except container.DAMAGE as error:
            raise FileFormatError(f"{self.path} is malformed: {error}.") from None

    def _run(self, name: str, arrays: dict[str, NDArray[Any]]) -> Run[State]:
        state = State(*(arrays[f"{name}_{part}"] for part in ("theta", "psi", "centre")))
        state.validate(*self.shape, binary=self.binary)
        return Run(state, history_of(arrays[f"{name}_history"]))
