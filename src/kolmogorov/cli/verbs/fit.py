"""`kolmogorov fit`: a ratings file in, a model file out."""

from __future__ import annotations

import logging
import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from threading import Event
from typing import TYPE_CHECKING, Any

import click

from kolmogorov.cli.options import (
    Finite,
    events_option,
    jobs_option,
    psi_option,
    read_input,
    reading_options,
    refuse_strange,
    seed_option,
    told,
)
from kolmogorov.cli.shell import INTERRUPTED, OF_SCALES, SETTABLE, Input, Output, Verb, doing

if TYPE_CHECKING:
    from kolmogorov.cluster.dask import Dask
    from kolmogorov.data import Observations


def _address(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    if text is not None and not re.fullmatch(r"local:[1-9]\d*|(tcp|tls|ws|wss)://\S+", text):
        raise click.BadParameter(f"must be local:N or the address of a scheduler: tcp://host:8786, got {text!r}.")
    return text


@click.command("fit", cls=Verb)
@click.argument("data", type=Input())
@click.option("-o", "--output", type=Output(), required=True, help="Model file to write.")
@events_option
@psi_option
@click.option(
    "--bayes/--point",
    default=None,
    help="Fit an average of models (most accurate, with intervals), or one model that you can read.  [default: "
    "--bayes, unless something is asked for that only one model has]",
)
@click.option(
    "--learn-from",
    type=click.Choice(["draws", "ratings"]),
    help="One model: fit it to a table completed by draws, or to the ratings alone, as in the paper.",
)
@click.option("--users", type=Input(), metavar="FILE", help="What is known of users: ages, jobs; a row for each id.")
@click.option("--items", type=Input(), metavar="FILE", help="What is known of items: genres, years; lists as A|B.")
@click.option("--test-size", type=Finite(), help="Hold out this share of the ratings and measure errors on it.")
@seed_option
@jobs_option
@click.option("--gpu", is_flag=True, help="Fit on an NVIDIA GPU. Needs the extra 'cuda'.")
@click.option("--dask", metavar="WHERE", callback=_address, help="Fit on a Dask cluster: local:N, or tcp://host:8786.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@reading_options
def command(
    data: str, output: str, test_size: float | None, gpu: bool, dask: str | None, quiet: bool, **options: Any
) -> None:
    """Learn a model from DATA and write it to a file.

    DATA has a user, an item and a value per line: text of any separator, compressed or not, parquet, a directory of
    parquet files, "-" for standard input, or dataset:NAME of `kolmogorov data list`. Values are numbers, or yes and no.
    --wide reads a table with a column for each item. --set also takes the model's own parameters: n_chains=4,
    user_reg=30.

    \b
    Examples:
      kolmogorov fit ratings.csv -o model.km
      kolmogorov fit ratings.csv --point --events 8 -o model.km
      kolmogorov fit u.data --maximum 5 --test-size 0.2 -o ml.km
      kolmogorov fit u.data --maximum 5 --learn-from ratings --set user_reg=30 -o ml.km
      kolmogorov fit ratings.csv --users users.csv --items films.csv -o model.km
      kolmogorov fit clicks.csv --implicit --test-size 0.2 -o clicks.km
      kolmogorov fit votes.csv --map yes=1,abstain=0.5,no=0 --missing absent --titles motions.csv -o votes.km
      zcat votes.tsv.gz | kolmogorov fit - -o votes.km
    """
    from kolmogorov._support.markup import shown
    from kolmogorov._support.progress import silence
    from kolmogorov._support.validation import between, check_parameters
    from kolmogorov.cli.display import console
    from kolmogorov.gpu.cuda import Cuda

    if output == "-":
        raise click.UsageError("A model is written to a file, not to standard output.")
    if gpu and dask is not None:
        raise click.UsageError("--gpu does not go with --dask: workers of a cluster compute on their processors.")
    say = console(stderr=True)
    say.quiet = quiet
    with ExitStack() as stack:
        if quiet:
            stack.enter_context(silence())
        execution: Any = None
        if gpu:
            execution = Cuda()
            execution.found()
        elif dask is not None:
            execution = stack.enter_context(_cluster(dask))
        # What is wrong with the settings is said before a file is read, which may take minutes.
        model = _unfitted(options, execution)
        model._check_parameters()
        if test_size is not None:
            check_parameters("fit", {"test_size": test_size}, {"test_size": between(0.0, 1.0)})
        train, test = _tables(data, model, test_size, options, say)
        beside = _attributes(train, options, say)
        say.print(_choice(model, train, options["bayes"] is None))
        doing(None)
        _fit(model, train, beside, say)
        model.save(output)
        doing("Measuring errors")
        if not quiet:
            _results(model, test, say)
        say.print(f"Model written to {shown(output)}")
        if getattr(model, "interrupted_", False):
            # What was asked for is not all there; a script should know.
            raise click.exceptions.Exit(INTERRUPTED)


def _unfitted(options: dict[str, Any], execution: Any) -> Any:
    """Make the model: draws, unless something is asked for that only one model, or one of lists, has."""
    from kolmogorov.cluster.dask import Dask
    from kolmogorov.models.bayesian import BayesianKolmogorovModel
    from kolmogorov.models.kolmogorov import KolmogorovModel
    from kolmogorov.models.lists import ListModel

    names = ("n_events", "psi", "learn_from", "random_state", "n_jobs")
    given = {name: options[name] for name in names if options[name] is not None}
    given |= {} if execution is None else {"execution": execution}
    kinds: tuple[Any, ...] = (BayesianKolmogorovModel, KolmogorovModel, ListModel)
    draws, one, lists = (kind._get_param_names() for kind in kinds)
    own, more = {*draws, *one, *lists}, options["more"]
    refuse_strange(more, {*own, *SETTABLE, *OF_SCALES})
    given |= {name: more.pop(name) for name in own & more.keys()}
    kind: Any = BayesianKolmogorovModel
    if options["implicit"] and options["bayes"] is None and given.keys() <= set(lists):
        kind = ListModel
    elif options["implicit"] and not options["bayes"]:
        kind, given["unobserved"] = KolmogorovModel, "auto"
    elif options["bayes"] is None:
        only_one = given.keys() - set(draws) or isinstance(execution, Dask)
        kind = KolmogorovModel if only_one else kind
    elif not options["bayes"]:
        kind = KolmogorovModel
    for name in given:
        if name not in kind._get_param_names():
            flag = f"--{name.replace('_', '-')}" if name in names else f"--set {name}"
            other = "goes only with --bayes" if name in draws else "goes only with --point"
            raise click.UsageError(f"{flag}: {other}; this fits a {kind.__name__}.")
    return kind(**given)


@contextmanager
def _cluster(address: str) -> Iterator[Dask]:
    """Connect to a scheduler, or start workers here: ``local:4`` is four processes of one thread."""
    from kolmogorov._support.optional import require
    from kolmogorov.cluster.dask import Dask
    from kolmogorov.errors import ExecutionError

    distributed: Any = require("distributed", extra="dask", purpose="--dask")
    with ExitStack() as stack:
        if address.startswith("local:"):
            # Ctrl-C goes to the whole terminal. Workers that are started while it is ignored ignore it for good: the
            # command ends by itself, keeping the best state so far, and for that it needs them.
            before = signal.signal(signal.SIGINT, signal.SIG_IGN)
            workers = int(address.removeprefix("local:"))
            more = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
            try:
                local = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, **more)
            finally:
                signal.signal(signal.SIGINT, before)
            client = distributed.Client(stack.enter_context(local))
        else:
            try:
                client = distributed.Client(address, timeout=10)
            except (OSError, TimeoutError) as error:
                raise ExecutionError(f"No Dask scheduler answers at {address}: {error}.") from None
        yield Dask(stack.enter_context(client))


def _tables(data: str, model: Any, test_size: float | None, options: dict[str, Any], say: Any) -> tuple[Any, Any]:
    """Return what to learn from, and what is held out."""
    from kolmogorov.cluster.dask import Dask

    if isinstance(model.execution, Dask) and not model._has_draws and data.endswith((".parquet", ".pq")):
        doing(f"Reading {data}")
        table = model.execution.read(data, **told(options))
    else:
        table = read_input(data, options)
    say.print("\n".join([*(table.source.lines() if table.source else ()), str(table)]))
    if test_size is None:
        return table, None
    return table.split(test_size, random_state=model.random_state, by="user" if options["implicit"] else "entry")


def _attributes(table: Any, options: dict[str, Any], say: Any) -> dict[str, Any]:
    """Read what --users and --items name beside a table, and say what was understood."""
    from kolmogorov.data.attributes import read_attributes

    found: dict[str, Any] = {}
    for side in ("users", "items"):
        if options[side] is None:
            continue
        if options["implicit"]:
            raise click.UsageError(f"--{side}: does not go with --implicit: attributes are for draws.")
        doing(f"Reading {options[side]}")
        found[side] = read_attributes(options[side], getattr(table, side), side)
        say.print("\n".join(found[side].lines(side)))
    return found


def _choice(model: Any, train: Any, by_default: bool) -> str:
    """Say in one line which model is learned, and why."""
    from kolmogorov.models.learning import why_ratings
    from kolmogorov.models.lists import ListModel

    if isinstance(model, ListModel):
        return "Fitting lists: what follows from what, and events. --point fits one model of events alone."
    if model._has_draws:
        other = " --point fits one you can read, sooner." if by_default else ""
        return f"Fitting an average of models (most accurate).{other}"
    why = why_ratings(model, train)
    if why is None:
        return "Fitting one model that you can read, from a table completed by short chains."
    # It is said here, and need not be said again.
    model.learn_from = "ratings"
    return f"Fitting one model from the ratings{'' if why == 'as asked' else f': {why}'}."


def _fit(model: Any, train: Any, beside: dict[str, Any], say: Any) -> None:
    """Fit with a bar that shows chains or, of one model, the error in training."""
    from kolmogorov.cli.display import counting_bar
    from kolmogorov.cli.shell import first_interrupt

    draws, done = model._has_draws, dict[int, int]()
    noted = first_interrupt(say.print) if model.execution is not None and not draws else nullcontext(Event())
    with counting_bar(say, "sweeps") as show, noted as stopping:

        def advance(sweep: Any) -> bool:
            if hasattr(sweep, "chain"):
                done[sweep.chain] = sweep.sweep
                show(sum(done.values()), sweep.n_chains * sweep.n_sweeps, "" if draws else "completing the table")
            else:
                show(sweep.sweep, None, f"rmse {sweep.rmse:.4f}")
            return stopping.is_set()

        model.callback = advance
        model.fit(train, **beside)


def _results(model: Any, test: Observations | None, say: Any) -> None:
    """Show errors on what was held out, and of a single model its events."""
    from kolmogorov.cli.display import console, for_people, held_out_scores, table

    out = console()
    if model._is_only_yes:
        said = getattr(model, "settings_", None)
        weight = model.unobserved_ if said is None else said.unobserved
        links = "" if said is None else f" Links make {1.0 - said.balance:.0%} of a score, events {said.balance:.0%}."
        say.print(f"Only yes is recorded: every unobserved entry counts as a no of weight {weight:.3g}.{links}")
    if test is None:
        say.print("No ratings were held out, and nothing is known of errors: --test-size 0.2 measures them.")
    else:
        columns, sentence = held_out_scores(model, test, 10 if model._is_only_yes else None)
        out.print(table(f"On {len(test):,} ratings held out", for_people(columns, model.scale_)))
        if sentence:
            out.print(sentence)
    if not model._has_draws:
        events = model.events(6)
        columns = {
            "event": [event.number for event in events],
            "share of users": [event.share for event in events],
            "items": [event.n_items for event in events],
            "liked more than by others": [", ".join(event.items) for event in events],
        }
        out.print(table("Events", columns))
