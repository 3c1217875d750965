"""The loop around the engine: several starts, stopping, callbacks, checkpoints, Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.progress import says_stop, warn
from kolmogorov._support.seeds import generator, row_seeds
from kolmogorov.descent.engine import Engine, Run, S, State
from kolmogorov.descent.files import read, refusing, write
from kolmogorov.descent.point import Sweep, history_array, history_of
from kolmogorov.errors import ConvergenceWarning, FileFormatError, InvariantError

KIND, _RUNS = "checkpoint", ("current", "best")
_STATE = {"theta": "f8 users events", "psi": "f8 items events", "centre": "f8 events", "history": "f8 * 5"}
#: A file holds no best descent before the first has ended.
SCHEMA = {f"{run}_{part}{'?' * (run == 'best')}": sizes for run in _RUNS for part, sizes in _STATE.items()}


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
        for name, run in zip(_RUNS, (progress.current, progress.best), strict=True):
            if run is not None:
                arrays |= {f"{name}_{part}": array for part, array in vars(run.state).items()}
                arrays[f"{name}_history"] = history_array(run.history)
        write(self.path, KIND, meta, arrays)

    def read(self) -> FitProgress[State] | None:
        """Return the state to go on from, or None where there is no file yet."""
        if not self.path.exists():
            return None
        meta, arrays = read(self.path, {KIND: SCHEMA})
        with refusing(self.path):
            if meta["identity"] != self.identity or self.seed not in (None, meta["seed"]):
                raise FileFormatError(
                    f"{self.path} is the checkpoint of another fit (other data, parameters or seed). Delete it or "
                    "choose another path."
                )
            seed, init = meta["seed"], meta["init"]
            if type(seed) is not int or not 0 <= seed < 2**63 or type(init) is not int or not 0 <= init < self.n_init:
                raise InvariantError("its seed or its start is not valid")
            best = self._run("best", arrays) if "best_theta" in arrays else None
            return FitProgress(seed, init, self._run("current", arrays), best)

    def _run(self, name: str, arrays: dict[str, NDArray[Any]]) -> Run[State]:
        state = State(*(arrays[f"{name}_{part}"] for part in ("theta", "psi", "centre")))
        state.validate(*self.shape, binary=self.binary)
        return Run(state, history_of(arrays[f"{name}_history"]))


# Places of the random streams that do not belong to a sweep.
_START, _INIT = 1, 2


@dataclass(frozen=True)
class MultiStart(Generic[S]):
    """Runs `n_init` descents of at most `max_iter` sweeps and keeps the best.

    A descent ends when a sweep lowers the objective by less than `tol` of itself, or when `on_sweep`
    returns True, Python's or NumPy's, which also ends the fit. With `keep_better` a sweep that raises it is undone.
    """

    engine: Engine[S]
    n_events: int
    seed: int
    n_init: int
    max_iter: int
    tol: float
    on_sweep: Callable[[Sweep], Any] | None = None
    checkpoint: Checkpoint | None = None
    start: Run[State] | None = None
    keep_interrupted: bool = True
    keep_better: bool = True

    def run(self) -> Run[State]:
        """Descend, from the checkpoint if there is one; after Ctrl-C return the best so far, if that is wanted."""
        found = self.checkpoint.read() if self.checkpoint else None
        if found is None:
            progress = FitProgress(self.seed, 0, self._start(self.seed, 0))
        else:
            run = Run(self.engine.spread(found.current.state), found.current.history)
            progress = FitProgress(found.seed, found.init, run, found.best)
        try:
            while True:
                while not self._finished(progress.current):
                    current = self._step(progress)
                    progress = replace(progress, current=current)
                    if self.checkpoint:
                        here = self._collected(current)
                        self.checkpoint.write(FitProgress(progress.seed, progress.init, here, progress.best))
                    if self.on_sweep is not None and says_stop(self.on_sweep(current.history[-1])):
                        return self._better(progress)
                if progress.init + 1 >= self.n_init:
                    return self._better(progress)
                init = progress.init + 1
                progress = FitProgress(progress.seed, init, self._start(progress.seed, init), self._better(progress))
        except KeyboardInterrupt:
            if not self.keep_interrupted or (not progress.current.history and progress.best is None):
                raise
            best = self._better(progress)
            warn(
                f"Interrupted in sweep {len(progress.current.history) + 1} of start {progress.init + 1} of "
                f"{self.n_init}; the best state so far is kept.",
                ConvergenceWarning,
            )
            return replace(best, interrupted=True)

    def _start(self, seed: int, init: int) -> Run[S]:
        if init == 0 and self.start is not None:
            return Run(self.engine.spread(self.start.state), self.start.history)
        return Run(self.engine.start(generator(seed, _START, init), self.n_events))

    def _step(self, progress: FitProgress[S]) -> Run[S]:
        run = progress.current
        seed = int(row_seeds(progress.seed, 0, _INIT, np.array([progress.init]))[0])
        state, record = self.engine.sweep(run.state, len(run.history) + 1, seed)
        if self.keep_better and record.objective > run.objective:
            # Where rows keep their better points only rounding can do this; the better of the two states stands.
            last = run.history[-1]
            state, record = run.state, replace(record, objective=last.objective, rmse=last.rmse)
        return Run(state, (*run.history, record))

    def _finished(self, run: Run[S]) -> bool:
        if len(run.history) >= self.max_iter:
            return True
        if len(run.history) < 2:
            return False
        before, now = run.history[-2].objective, run.history[-1].objective
        return 0.0 <= before - now < self.tol * before or now == 0.0

    def _better(self, progress: FitProgress[S]) -> Run[State]:
        best = progress.best
        if best is not None and best.objective <= progress.current.objective:
            return best
        return self._collected(progress.current)

    def _collected(self, run: Run[S]) -> Run[State]:
        return Run(self.engine.collect(run.state), run.history)
