"""Forged files by the thousand: each must be refused with a sentence, or be what it says it is.

`run` starts workers that open forged files under a limit on memory, and watches them: one that dies is a crash, one
that says nothing for a while is a hang. What loads is used: predictions, guests, new rows, rules, and for some files
the page. `benchmarks/attack.py` does it at length, a test for a few seconds.
"""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd

import kolmogorov as km
from helpers.columns import odd_columns
from helpers.forgery import mutated
from kolmogorov.data.reading.options import ReadingOptions
from kolmogorov.errors import FileFormatError, KolmogorovError
from kolmogorov.sampling.checkpoint import ChainCheckpoint

KINDS = ("models", "tables", "fits", "chains", "columns")
#: Seconds that one file may take, with all that is done with it; on a busy machine the usual tenth becomes many.
PATIENCE = 120.0
#: Of one in so many models the page is made, too.
_PAGES = 8
_ALLOWED = 100 << 20


# --- what is forged ------------------------------------------------------------------------------------------------


def small_table(seed=0):
    rng = np.random.default_rng(seed)
    values = (rng.random((7, 6)) < 0.6).astype(float)
    values[rng.random((7, 6)) < 0.3] = np.nan
    return km.Observations.from_dense(values)


def rated_table():
    rng = np.random.default_rng(1)
    users, items = np.repeat(np.arange(6), 4), np.tile([3, 5, 8, 11], 6)
    names = np.array(["ann", "b", "cé", "d", "e", "f"], dtype=object)[users]
    columns = {"who": names, "film": items, "stars": rng.integers(1, 6, 24), "times": rng.integers(1, 4, 24)}
    frame = pd.DataFrame(columns | {"age": 30})
    table = km.Observations.from_frame(frame, "who", weight="times", maximum=5)
    labelled = table.items.with_labels({3: "Three", 5: "<script>"})
    named = km.Observations(table.users, labelled, table.rows, table.scale, table.source)
    return named.with_times(rng.uniform(0, 100, 24))


CHAINS = {"n_chains": 2, "burn_in": 3, "n_samples": 4, "n_features": 2, "random_state": 0, "n_jobs": 1}
#: Of drawn models; those at even places are of yes and no, the others of ratings.
LEVELS = ({"levels": 2}, {"levels": 2}, {}, {}, {"levels": [0.2, 0.8]}, {"likelihood": "categorical"})
LEVELS += ({"levels": [0.1, 0.9]}, {"time": "mood"})
POINT = {"n_events": 3, "n_init": 2, "random_state": 0, "n_jobs": 1, "tol": 0.0}
RATINGS = POINT | {"learn_from": "ratings", "user_reg": 1.0}


class StoppedError(Exception):
    pass


def corpus(folder):
    """Return honest files by kind, as bytes."""
    yes, rated = small_table(), rated_table()
    drawn = [(LEVELS[k], rated if k % 2 else yes) for k in range(len(LEVELS))]
    models = [
        km.KolmogorovModel(**POINT, max_iter=2).fit(yes),
        km.KolmogorovModel(**POINT, levels="chances", max_iter=2).fit(rated),
        km.KolmogorovModel(**POINT, levels=[0.1, 0.4, 0.9], max_iter=2).fit(yes),
        km.KolmogorovModel(**RATINGS, max_iter=2).fit(rated),
        km.KolmogorovModel(**RATINGS, levels="auto", max_iter=2).fit(rated),
        km.KolmogorovModel(**RATINGS, levels="chances", max_iter=2).fit(yes),
        km.baselines.MatrixFactorization(2, random_state=0, n_jobs=1).fit(rated),
        km.baselines.SVDpp(2, n_epochs=2, random_state=0).fit(yes),
        *(km.BayesianKolmogorovModel(2, **CHAINS, **options).fit(table) for options, table in drawn),
    ]
    words = [["tea", 1, True], ["milk", 2.5, False], ["tea", None, True], ["rum", 1, None]]
    models.append(km.NominalModel(2, n_chains=1, burn_in=3, n_samples=3, random_state=0, n_jobs=1).fit(words))
    found = {kind: [] for kind in KINDS}
    for model in models:
        model.save(folder / "m")
        found["models"].append((folder / "m").read_bytes())
    for table in (yes, rated):
        km.pack(table, folder / "t")
        found["tables"].append((folder / "t").read_bytes())
    for sweeps in (1, 3):
        km.KolmogorovModel(**RATINGS, max_iter=sweeps, checkpoint=folder / "c").fit(yes)
        found["fits"].append((folder / "c").read_bytes())
        (folder / "c").unlink()
    for k, (options, table) in enumerate(drawn):
        found["chains"].append(_chains(folder / "c", table, 2 + k, options))
    return found


def _chains(path, table, last, options):
    def stop(draw):
        if draw.chain == 1 and draw.sweep == last:
            raise StoppedError

    path.unlink(missing_ok=True)
    with contextlib.suppress(StoppedError):
        km.BayesianKolmogorovModel(2, **CHAINS, **options, checkpoint=path, callback=stop).fit(table)
    return path.read_bytes()


# --- what must hold, said without the library ------------------------------------------------------------------------


def check_table(table):
    indptr, indices, values = (np.asarray(a) for a in (table.rows.indptr, table.rows.indices, table.rows.values))
    assert indptr.dtype == np.int64
    assert indptr.shape == (table.n_users + 1,)
    ends = indptr.tolist()
    assert ends[0] == 0
    assert ends[-1] == len(indices)
    entries = {}
    for user in range(table.n_users):
        assert ends[user] <= ends[user + 1]
        for place in range(ends[user], ends[user + 1]):
            item = int(indices[place])
            assert 0 <= item < table.n_items
            assert (user, item) not in entries
            assert 0.0 <= values[place] <= 1.0
            weight = 1.0 if table.weights is None else float(table.weights[place])
            assert 0.0 < weight < np.inf
            entries[user, item] = (float(values[place]), weight)
    seen = 0
    columns = table.columns
    for item in range(table.n_items):
        for place in range(int(columns.indptr[item]), int(columns.indptr[item + 1])):
            weight = float(columns.weights[place]) if columns.weights.size else 1.0
            assert entries[int(columns.indices[place]), item] == (float(columns.values[place]), weight)
            seen += 1
    assert seen == len(entries) > 0
    assert repr(table).startswith("Observations: ")
    if table.source is not None:
        ReadingOptions.of_recipe(table.source.recipe, {})
    assert np.isfinite([table.scale.minimum, table.scale.maximum]).all()
    for vocabulary in (table.users, table.items):
        assert len(set(vocabulary.ids.tolist())) == len(vocabulary)


def check_model(model):
    fitted = model.fitted_
    if hasattr(fitted, "user_factors"):
        for name in ("user_bias", "item_bias", "user_factors", "item_factors"):
            assert np.isfinite(getattr(fitted, name)).all()
        assert np.isfinite(fitted.mean)
        assert fitted.user_factors.shape == (len(fitted.users), model.n_factors)
        assert fitted.item_factors.shape == (len(fitted.items), model.n_factors)
        return
    check_table(fitted.training)
    theta, psi = fitted.theta, fitted.psi
    size = theta.shape[-1]
    assert psi.shape[-1] == size
    assert model.n_events in ("auto", size)
    assert theta.shape[-2:-1] == (len(fitted.users),)
    assert psi.shape[-2:-1] == (len(fitted.items),)
    assert (theta >= 0).all()
    assert np.allclose(theta.sum(axis=-1), 1.0, atol=1e-5)
    assert (fitted.noise > 0).all()
    assert np.isfinite(fitted.noise).all()
    assert fitted.noise.shape[-1] == len(fitted.users)
    if model.levels == "chances":
        assert fitted.levels is None
        assert psi.dtype == np.float64
        assert ((psi >= 0) & (psi <= 1)).all()
    elif model.levels != 2 or isinstance(model, km.BayesianKolmogorovModel):
        grid = fitted.levels
        assert 2 <= len(grid) <= 64
        assert (np.diff(grid) > 0).all()
        assert (np.abs(grid) <= 10).all()
        if model.levels == 2 or list(model.levels) == [0, 1]:
            assert grid.tolist() in ([0.0, 1.0], [0.01, 0.99])
        else:
            assert model.levels == "auto" or list(model.levels) == grid.tolist()
        assert np.isin(psi, grid.astype(psi.dtype)).all()
    else:
        assert psi.dtype == bool
    if isinstance(model, km.KolmogorovModel):
        assert np.isclose(fitted.user_pull.centre.sum(), 1.0, atol=1e-5)
        assert (fitted.user_pull.centre >= 0).all()
        assert np.isfinite(fitted.item_pull.centre).all()
        for pull in (fitted.user_pull.strength, fitted.item_pull.strength):
            assert pull.shape == (size, size)
            assert np.allclose(pull, pull.T)
            assert np.linalg.eigvalsh(pull)[0] >= -1e-6 * np.abs(pull).max()
        assert fitted.learned_from in ("draws", "ratings")
        assert all(np.isfinite(sweep.objective) for sweep in fitted.history)
        assert fitted.n_changed >= 0
        if fitted.chains is not None:
            check_chains(fitted)


def check_chains(fitted):
    chains = fitted.chains
    n_chains, _, size = chains.theta.shape
    assert chains.theta.shape == (n_chains, len(fitted.users), size)
    assert chains.psi.shape == (n_chains, len(fitted.items), size)
    assert chains.noise.shape == (n_chains, len(fitted.users))
    assert min(n_chains, size) > 0
    assert (chains.theta >= 0).all()
    assert np.allclose(chains.theta.sum(axis=-1), 1.0, atol=1e-5)
    assert (np.diff(chains.levels) > 0).all()
    assert np.isin(chains.psi, chains.levels.astype(np.float32)).all()
    for numbers in (chains.noise, *chains.priors.values()):
        assert (numbers > 0).all()
        assert np.isfinite(numbers).all()


def update_model(model):
    """Go on from where chains say that they ended: a model comes of it, or a sentence."""
    training = model.fitted_.training
    first = training.subset(np.arange(len(training)) < 1)
    other = 0.0 if first.values[0] > 0.5 else 1.0
    turned = km.Observations.from_arrays(
        first.users.ids[first.user_rows()],
        first.items.ids[first.item_rows()],
        training.scale.rating(np.array([other])),
        minimum=training.scale.minimum,
        maximum=training.scale.maximum,
    )
    with contextlib.suppress(KolmogorovError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_params(random_state=0, n_jobs=1).update(turned)
        check_model(model)


def use_answers(model, folder):
    """Do with a model of answers whatever may be done with one."""
    table = [
        [labels[0] for labels in model.categories_.values()],
        [None] * len(model.categories_),
        ["?"] * len(model.categories_),
    ]
    frame = km.data.answers.AnswerTable(
        range(3), list(model.categories_), [list(column) for column in zip(*table, strict=True)]
    )
    for item, labels in model.categories_.items():
        answer = model.predict_distribution(frame, item)
        assert answer.shape == (3, len(labels))
        assert (answer >= 0).all()
        assert np.allclose(answer.sum(axis=1), 1.0, atol=1e-5)
    assert not any(label is None for column in model.predict(frame).answers for label in column)
    assert np.isfinite(model.score(frame))
    model.save(folder / "again")
    same = km.load(folder / "again").predict_distribution(frame)
    assert all(np.array_equal(same[item], found) for item, found in model.predict_distribution(frame).items())


def use_model(model, folder):
    """Do with a model whatever may be done with one; what it returns must be numbers."""
    users, items = model.fitted_.users.ids[:3], model.fitted_.items.ids[:3]
    for user in users.tolist():
        answer = model.predict(user, items)
        assert np.isfinite(answer).all()
        assert ((answer >= 0) & (answer <= 1)).all()
    if hasattr(model, "predict_distribution"):
        answer = model.predict_distribution(users, items[0])
        assert (answer >= 0).all()
        assert np.allclose(answer.sum(axis=1), 1.0, atol=1e-5)
        said = np.clip(model.scale_.rating(model.predict(users, items[0])), *model.rating_values_[[0, -1]])
        assert np.allclose(answer @ model.rating_values_, said, atol=1e-5 * model.scale_.span)
    if getattr(model, "time", None):
        assert np.isfinite(model.predict(users, items[0], times=50.0)).all()
        assert np.isfinite(model.predict_interval(users, items[0], times=50.0)).all()
    if hasattr(model, "transform"):
        theta = model.fold_in(model.fitted_.training, side="users")
        assert np.allclose(theta.sum(axis=1), 1.0, atol=1e-5)
        assert np.isfinite(model.fold_in(model.fitted_.training, side="items")).all()
    if hasattr(model, "relations"):
        str(model.relations().rules())
    model.recommend(users[0], 3)
    if hasattr(model, "fold_in"):
        guest = {items[0].item() if hasattr(items[0], "item") else items[0]: model.scale_.maximum}
        model.recommend(guest=guest, n=2)
    if hasattr(model, "explain") and hasattr(model, "theta_"):
        str(model.explain(users[0], items[0], unknown="ignore"))
    model.save(folder / "again")
    same = km.load(folder / "again").predict(users[0], items)
    assert np.array_equal(same, model.predict(users[0], items))


def check_page(model, folder):
    """Make the page of a model that has one: it must be JSON without numbers that JSON does not have."""
    if hasattr(model, "report"):
        model.report(folder / "page.html")
        assert (folder / "page.html").stat().st_size > 10_000


def judge(kind, path, folder, page=False):
    """Open one file; return "refused" or "loaded". Anything else that happens is a finding."""
    try:
        if kind == "columns":
            check_table(km.read_ratings(path if path.suffix == ".parquet" else stream_of(path)))
            return "loaded"
        if kind == "models":
            with limited(path):
                model = km.load(path)
            assert model.get_params().get("checkpoint") is None
            assert model.get_params().get("random_state") is None
            if isinstance(model, km.NominalModel):
                use_answers(model, folder)
                return "loaded"
            check_model(model)
            use_model(model, folder)
            if page:
                check_page(model, folder)
            if isinstance(model, km.KolmogorovModel) and model.fitted_.chains is not None:
                update_model(model)
        elif kind == "tables":
            with limited(path):
                table = km.Observations.open(path)
            check_table(table)
            with contextlib.suppress(km.errors.DataError):
                check_model(km.KolmogorovModel(2, random_state=0, max_iter=1, n_jobs=1).fit(table))
        elif kind == "fits":
            with limited(path):
                model = km.KolmogorovModel(**RATINGS, max_iter=4, checkpoint=path).fit(small_table())
            check_model(model)
        else:
            number = int("".join(filter(str.isdigit, path.name)))
            table = rated_table() if number % 2 else small_table()
            with limited(path):
                model = km.BayesianKolmogorovModel(2, **CHAINS, **LEVELS[number], checkpoint=path).fit(table)
            check_model(model)
    except FileFormatError:
        return "refused"
    except km.errors.DataError:
        if kind == "columns":
            return "refused"
        raise
    return "loaded"


def stream_of(path):
    """Return a stream of Arrow as somebody else's library hands it over."""
    import pyarrow

    return pyarrow.ipc.open_stream(path)


@contextlib.contextmanager
def limited(path):
    """Allow ten times the file and 100 MB more than what the process has."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size + _ALLOWED + 10 * path.stat().st_size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


# --- workers ---------------------------------------------------------------------------------------------------------


def compile_solvers():
    """Compile what forged files may name, so that no file has to wait for it."""
    for family in ("binary", "simplex", "levels", "box", "ridge"):
        for name in km.solvers.names(family):
            if name != "sdr":
                solver = km.solvers.resolve(family, name)
                solver = solver.on(np.array([0.0, 0.5, 1.0])) if family == "levels" else solver
                solver.solve_batch(np.eye(3)[None], np.ones((1, 3)), solver.nearest(np.ones(3) / 3)[None])


def work(kind, seed, first, last):
    """Judge the files `first` to `last` of a seed, and print a line for each."""
    ChainCheckpoint.pause = 0.0
    warnings.simplefilter("ignore")
    if kind == "models":
        compile_solvers()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        honest = corpus(folder)[kind] if kind != "columns" else []
        for number, content in enumerate(honest):
            path = folder / f"honest{number}"
            path.write_bytes(content)
            assert judge(kind, path, folder) == "loaded", f"the honest file {number} of {kind} is refused"
        for number in range(first, last):
            rng = np.random.default_rng([seed, KINDS.index(kind), number])
            if kind == "columns":
                path = odd_columns(rng, folder)
            else:
                which = int(rng.integers(len(honest)))
                path = folder / f"forged{which}"
                path.write_bytes(mutated(rng, honest[which]))
            sys.stdout.write(f"{number} ")
            sys.stdout.flush()
            try:
                outcome = judge(kind, path, folder, page=number % _PAGES == 0)
            except KolmogorovError as error:
                outcome = f"finding: {type(error).__name__} after loading: {error}"
            except MemoryError:
                outcome = "finding: asks for too much memory"
            except BaseException as error:
                outcome = f"finding: {type(error).__name__}: {error}"
            sys.stdout.write(outcome.replace("\n", " ")[:300] + "\n")
            sys.stdout.flush()


def run(kind, count, seed=0, report=None, processes=1, first=0):
    """Judge `count` forged files of a kind, from `first` on; return the numbers of outcomes and a list of findings."""
    ends = [first + count * k // processes for k in range(processes + 1)]
    with ThreadPoolExecutor(processes) as pool:
        parts = list(pool.map(lambda a, b: _run(kind, a, b, seed, report), ends[:-1], ends[1:]))
    tally = {outcome: sum(part[0][outcome] for part in parts) for outcome in ("refused", "loaded")}
    return tally, [finding for part in parts for finding in part[1]]


def _run(kind, first, count, seed, report):
    """Judge the files `first` to `count`, with a new worker after each that dies or hangs."""
    tally, findings = {"refused": 0, "loaded": 0}, []
    while first < count:
        command = [sys.executable, __file__, kind, str(seed), str(first), str(count)]
        # One arena, so that the limit on memory is not met by reserves of the allocator.
        environment = os.environ | {"MALLOC_ARENA_MAX": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True
        ) as process:
            last, line = first - 1, ""
            for line in _lines(process):
                number, _, outcome = line.partition(" ")
                last = int(number)
                if outcome in tally:
                    tally[outcome] += 1
                else:
                    findings.append((kind, seed, last, outcome or "no answer"))
                if report is not None:
                    report(last + 1)
            if last + 1 < count:
                status = "hang" if process.poll() is None else f"crash with status {process.wait()}"
                process.kill()
                detail = process.stderr.read()[-2000:]
                findings.append((kind, seed, last + 1, f"{status}: {detail}"))
                if process.returncode == 1 and last < first:
                    return tally, findings
            first = last + 2 if last + 1 < count else count
    return tally, findings


def _lines(process):
    """Yield whole lines until the worker ends or says nothing for too long."""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        pending, patience = "", 6 * PATIENCE
        os.set_blocking(process.stdout.fileno(), False)
        began = time.monotonic()
        while time.monotonic() - began < patience:
            if not selector.select(timeout=1.0):
                continue
            content = os.read(process.stdout.fileno(), 1 << 16).decode()
            if not content:
                process.wait()
                return
            began, patience = time.monotonic(), PATIENCE
            *whole, pending = (pending + content).split("\n")
            yield from whole


if __name__ == "__main__":
    work(sys.argv[1], *map(int, sys.argv[2:]))
