"""Verbs around models: `demo`, `data`, `serve`, `doctor`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

import kolmogorov as km
from kolmogorov.cli.display import chosen_format, emit, held_out_scores, out, show, tell, understood
from kolmogorov.cli.options import DATA, DATASET, FILE, MODEL, READING, options, read_input, told
from kolmogorov.cli.shell import Verb, doing

_TREATY = "Treaty on the Prohibition of Nuclear Weapons (2019)"
_IRAN = "Situation of human rights in the Islamic Republic of Iran (2019)"
_SYRIA = "Situation of human rights in the Syrian Arab Republic (2019)"
_MEASURES = "Human rights and unilateral coercive measures (2019)"
_VARIABLES = ("KOLMOGOROV_DATA", "KOLMOGOROV_DEBUG", "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "OMP_NUM_THREADS")


@click.command("demo", cls=Verb)
@options("random_state")
def demo(random_state: int) -> None:
    """Learn votes of the United Nations' General Assembly and show what was learned.

    Events, a rule that holds, a vote explained, and a country that does not exist.

    \b
    Example:
      kolmogorov demo
    """
    doing("Fitting the model")
    votes = km.datasets.load("un-votes", since=2018)
    train, test = votes.split(test_size=0.2, random_state=random_state)
    out(f"The United Nations' General Assembly since 2018: {votes.n_users} countries × {votes.n_items} motions.", "")
    model = km.KolmogorovModel(6, psi="soft", random_state=random_state).fit(train)
    show(f"Errors on {len(test):,} of {len(votes):,} votes, held out", held_out_scores(model, test)[0])
    events = model.events(n_items=1, n_users=4)
    columns: dict[str, Any] = {"event": [event.number for event in events]}
    columns["share"] = [f"{event.share:.0%}" for event in events]
    columns["countries most in it"] = [", ".join(event.users) for event in events]
    columns["votes yes more than others on"] = ["".join(event.items) for event in events]
    out("")
    show("The 6 learned events", columns)
    out("", "What follows from a yes, by the training votes:", *model.rules().about(_TREATY)[:3])
    out("", "Why Austria votes for a ban of nuclear weapons:", *str(model.explain("Austria", _TREATY)).split("\n"))
    out("", "What if a country votes yes on that, and yes (or no) on human rights in Iran? From 0, no, to 1, yes:")
    lists = [model._asked(None, votes.n_items, {_TREATY: 1, _IRAN: vote}, min_count=1) for vote in (1, 0)]
    chances = [dict(zip(found["title"], found["probability"], strict=True)) for found in lists]
    out(*(f"  {motion}: {chances[0][motion]:.2f} (or {chances[1][motion]:.2f})" for motion in (_SYRIA, _MEASURES)))


@click.group("data")
def data() -> None:
    """List, describe, pack and export data."""


@data.command("list", cls=Verb)
def list_datasets() -> None:
    """List the named datasets and where files are looked for.

    \b
    Example:
      kolmogorov data list
    """
    known = km.datasets.names()
    show("Datasets", {"name": list(known), "what": list(known.values())})
    out("MovieLens is looked for in: " + ", ".join(map(str, km.datasets.data_directories())))


@data.command("describe", cls=Verb)
@DATA
@options(*READING)
def describe(data: str, **given: Any) -> None:
    """Say what is understood of DATA, read as `fit` reads it: columns, words, scale, what is missing or repeated.

    \b
    Examples:
      kolmogorov data describe ratings.csv --maximum 5
      kolmogorov data describe survey.csv --wide --ignore Age
    """
    table = read_input(data, given)
    out(*understood(table))
    if data.startswith(DATASET):
        out(km.datasets.names()[data.removeprefix(DATASET)])


@data.command("export", cls=Verb)
@click.argument("name")
@options("output")
def export(name: str, output: str | None) -> None:
    """Write the dataset NAME with the columns user, item, rating, as CSV or JSON.

    \b
    Example:
      kolmogorov data export zoo -o zoo.csv
    """
    table = km.datasets.load(name)
    columns = {"user": table.users.ids[table.user_rows()], "item": table.items.ids[table.item_rows()]}
    emit({**columns, "rating": table.scale.rating(table.values)}, chosen_format("table", output or "-"), output)


@data.command("pack", cls=Verb)
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option("-o", "--out", "folder", type=FILE, required=True, help="The table, a folder.")
@options(*READING)
def pack_files(files: tuple[str, ...], folder: str, **given: Any) -> None:
    """Pack FILES into one table that is mapped, not read.

    Packing takes about 50 bytes of memory a rating; what is packed takes none. FILES are those that `fit` takes, as
    many as you like, and directories of parquet files. Verbs take the table in place of a file.

    \b
    Examples:
      kolmogorov data pack ratings/*.csv.gz -o table --maximum 5
      kolmogorov data pack part-*.parquet -o table
      kolmogorov fit table --n-events 16 -o model.km
    """
    doing("Packing")
    out(*understood(km.pack(files, folder, **told(given))), f"Table written to {folder}")


@click.command("serve", cls=Verb)
@MODEL
@options("host", "port", "workers")
def serve(model: str, **given: Any) -> None:
    """Answer requests from MODEL over HTTP, until Ctrl-C.

    POST /predict, /recommend, /explain; GET /similar, /health, /metrics, /openapi.json.

    When the file changes, as by `kolmogorov update`, the new model takes the place of the old one between two requests.
    If it cannot be loaded the old one goes on, and /health says so.

    Where the environment variable KOLMOGOROV_TOKEN is set, requests need the header "Authorization: Bearer TOKEN".
    They name this machine as localhost, by an address, or by a name in KOLMOGOROV_HOSTS: models.example.org.

    \b
    Examples:
      kolmogorov serve model.km
      KOLMOGOROV_TOKEN=secret kolmogorov serve model.km --host 0.0.0.0 --workers 2
    """
    from kolmogorov._support.outside import require

    for module in ("fastapi", "uvicorn", "pydantic_settings", "prometheus_client"):
        require(module, extra="serve", purpose="A server")
    from pydantic import ValidationError

    from kolmogorov.serve import Holder, Settings, run

    given = {name: value for name, value in given.items() if value is not None}
    try:
        settings = Settings(model=Path(model).absolute(), **given)
    except ValidationError as error:
        wrong = error.errors()[0]
        raise km.errors.ParameterError(f"KOLMOGOROV_{str(wrong['loc'][0]).upper()}: {wrong['msg']}.") from None
    doing(f"Loading {model}")
    # Workers load it, too; a file that is none is said here, once and in one sentence.
    Holder(settings)
    doing(None)
    if settings.host not in ("127.0.0.1", "localhost", "::1") and settings.token is None:
        tell(f"Anybody who reaches {settings.host} can ask this model. Set KOLMOGOROV_TOKEN to ask for a token.")
    run(settings)


@click.command("doctor", cls=Verb)
def doctor() -> None:
    """Show versions, threads, caches and what is not installed.

    Kernels are compiled when first called, and kept beside the package or in NUMBA_CACHE_DIR.

    \b
    Example:
      kolmogorov doctor
    """
    import platform
    import re
    import sys
    from importlib.metadata import PackageNotFoundError, requires, version

    from kolmogorov._support.threads import usable_cpus
    from kolmogorov.solvers.rows import normal_equations

    stats = getattr(normal_equations, "stats", None)
    facts = {"kolmogorov": km.__version__, "Python": sys.version.split()[0], "platform": platform.platform()}
    facts["usable processors"] = str(usable_cpus())
    facts["kernel cache"] = "none: compiled in every process" if stats is None else str(stats.cache_path)
    facts["datasets"] = ", ".join(map(str, km.datasets.data_directories()))
    try:
        facts["GPU"] = km.Cuda().found()
    except km.errors.KolmogorovError as error:
        facts["GPU"] = f"none: {error}"
    facts |= {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    try:
        # What only some Pythons need is left out.
        wanted = [line for line in requires("kolmogorov") or () if "python_version" not in line]
    except PackageNotFoundError:
        wanted = []
    for line in wanted:
        package, extra = re.split(r"[^\w-]", line)[0], re.search(r"extra == ['\"](\w+)", line)
        if extra is None or extra[1] not in ("all", "bench", "docs"):
            try:
                facts[package] = version(package)
            except PackageNotFoundError:
                facts[package] = f"missing{f': pip install .[{extra[1]}]' if extra else ''}"
    show("kolmogorov doctor", {"what": list(facts), "is": list(facts.values())})
