"""`kolmogorov fit`: a ratings file in, a model file out."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from threading import Event
from typing import TYPE_CHECKING, Any

import click

from kolmogorov.cli.cluster import check_address, cluster
from kolmogorov.cli.mistakes import INTERRUPTED
from kolmogorov.cli.options import (
    COUNT,
    DISTRIBUTED,
    EVENTS,
    JOBS,
    LAYOUT,
    SCALE,
    Finite,
    LevelsOption,
    given_of,
    output_option,
    read_input,
    reading_options,
    reading_settings,
    refuse_given,
    scale_options,
    titles_option,
)
from kolmogorov.cli.paths import Input, Output
from kolmogorov.cli.verb import Verb

if TYPE_CHECKING:
    from kolmogorov.data import Observations
    from kolmogorov.model.bayesian import BayesianKolmogorovModel
    from kolmogorov.model.kolmogorov import KolmogorovModel


#: Options of a single model, and those of its descent over ratings.
_SINGLE = ("only_yes", "learn_from", "user_solver", "item_solver", "max_iter", "tol", "n_init")
_OF_RATINGS = ("user_reg", "item_reg", "prior")
_POINT = (*_SINGLE, *_OF_RATINGS)
#: Events with --only-yes.
_LISTING_EVENTS = 48
#: Options of chains, and the parameters of the model that they are.
_CHAINS = {
    "likelihood": "likelihood",
    "chains": "n_chains",
    "burn_in": "burn_in",
    "samples": "n_samples",
    "max_seconds": "max_seconds",
}


@click.command("fit", cls=Verb)
@click.argument("data", type=Input(dir_okay=True))
@output_option("Model file to write.", required=True)
@click.option(
    "--events",
    type=EVENTS,
    help="Number of elementary events.  [default: by the size of the table; 48 with --only-yes]",
)
@click.option(
    "--levels",
    type=LevelsOption(),
    metavar="2|chances|auto|V,V,...",
    help="What an item may be in an event: 2 (it happens or not), chances (any number from 0 to 1; one model), auto "
    "for a grid, or the grid on the scale from 0 to 1.  [default: 2; auto for draws, chances with --only-yes]",
)
@click.option(
    "--bayes/--point",
    default=None,
    help="Draw models and average them, which predicts best and says how sure it is, or learn one model that can be "
    "read.  [default: --bayes, unless an option of the other is given]",
)
@click.option(
    "--likelihood",
    type=click.Choice(["auto", "gaussian", "bernoulli", "categorical"]),
    default="auto",
    show_default=True,
    help="Of draws: ratings with noise, yes and no, or one of few ratings.",
)
@click.option("--chains", type=COUNT, help="Of draws: independent chains.  [default: by the size of the table]")
@click.option("--burn-in", type=COUNT, help="Of draws: sweeps of each chain not kept.  [default: likewise]")
@click.option("--samples", type=COUNT, help="Of draws: how many of each chain are kept.  [default: likewise]")
@click.option("--max-seconds", type=Finite(), help="Of draws: time for the chains, which are cut to what fits.")
@click.option(
    "--only-yes",
    is_flag=True,
    help="Only what happened is recorded (clicks, purchases): everything else counts as a no of small weight.",
)
@click.option(
    "--learn-from",
    type=click.Choice(["draws", "ratings"]),
    default="draws",
    help="Of one model: learn it from the table that a few short chains complete, or from the ratings alone, as the "
    "paper does.  [default: draws, unless a ridge or a prior is given]",
)
@click.option("--user-reg", type=Finite(), help="From ratings: ridge on theta.  [default: 10]")
@click.option("--item-reg", type=Finite(), help="From ratings: ridge on psi.  [default: 0]")
@click.option("--prior", type=click.Choice(["mean", "uniform"]), default="mean", help="From ratings.  [default: mean]")
@click.option("--user-solver", default="auto", show_default=True)
@click.option("--item-solver", default="auto", show_default=True)
@click.option("--max-iter", type=COUNT, help="Of one model: limit on sweeps.  [default: 30; 100 from ratings]")
@click.option("--tol", default=1e-4, type=Finite(), show_default=True, help="Relative decrease at which to stop.")
@click.option("--n-init", type=COUNT, help="Of one model: starts.  [default: 2 or 10; 1 from ratings]")
@click.option("--seed", default=0, show_default=True)
@click.option("--jobs", default=-1, type=JOBS, show_default=True, help="Threads; -1 for all processors.")
@click.option(
    "--dask",
    metavar="WHERE",
    callback=check_address,
    help="Fit on a Dask cluster: local:N for N processes here, or a scheduler's address such as tcp://host:8786.",
)
@click.option(
    "--gpu",
    is_flag=True,
    help="Fit on an NVIDIA GPU: all chains at once, or one model; with --dask one model on those of the workers. Needs "
    "the extra 'cuda'.",
)
@click.option("--shard-ratings", default=1_000_000, show_default=True, help="With --dask: ratings in a shard, about.")
@click.option("--test-size", type=Finite(), help="Hold out this share of the entries and report errors on it.")
@click.option("--checkpoint", type=Output(), help="File to go on from after a crash.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@scale_options
@reading_options
@titles_option
def command(
    data: str,
    output: str,
    events: int | None,
    seed: int,
    jobs: int,
    test_size: float | None,
    quiet: bool,
    dask: str | None,
    gpu: bool,
    shard_ratings: int,
    **options: Any,
) -> None:
    """Learn a model from DATA and write it to a file.

    DATA is a file with a user, an item and a value per line: csv, tsv, '::' or whitespace separated, with or
    without a header, plain, .gz, .xz, .bz2 or .zip, or parquet; a directory stands for the parquet files in it,
    "-" is standard input, and dataset:NAME one of `kolmogorov data list`. Values are numbers or yes and no; a wide
    table, with a column for each item, is read with --wide.

    \b
    Examples:
      kolmogorov fit ratings.csv -o model.km
      kolmogorov fit ratings.csv --point --events 8 -o model.km
      kolmogorov fit ratings.csv --point --levels chances -o model.km
      kolmogorov fit u.data --maximum 5 --learn-from ratings --user-reg 30 --test-size 0.2 -o ml.km
      kolmogorov fit u.data --maximum 5 --test-size 0.2 -o ml.km
      kolmogorov fit u.data --maximum 5 --bayes --likelihood categorical --max-seconds 60 -o ml.km
      kolmogorov fit clicks.csv --only-yes --test-size 0.2 -o clicks.km
      kolmogorov fit table.kmt --dask local:4 -o model.km
      kolmogorov fit table.kmt --gpu --point --events 16 -o model.km
      kolmogorov fit table.kmt --gpu --dask local:8 --shard-ratings 100000000 -o model.km
      kolmogorov fit votes.csv --map yes=1,abstain=0.5,no=0 --missing absent --titles motions.csv -o votes.km
      zcat votes.tsv.gz | kolmogorov fit - -o votes.km
    """
    from contextlib import ExitStack

    from kolmogorov._support.progress import silence
    from kolmogorov.cli.display import console

    if output == "-":
        raise click.UsageError("A model is written to a file, not to standard output.")
    if dask is None:
        refuse_given(["shard_ratings"], "goes only with --dask")
    say = console(stderr=True)
    say.quiet = quiet
    with ExitStack() as stack:
        if quiet:
            stack.enter_context(silence())
        options["execution"] = None
        if dask is not None:
            options["execution"] = stack.enter_context(cluster(dask, shard_ratings, gpu=gpu))
        elif gpu:
            options["execution"] = _device()
        _learn(data, output, events, seed, jobs, test_size, say, options)


def _learn(
    data: str,
    output: str,
    events: int | None,
    seed: int,
    jobs: int,
    test_size: float | None,
    say: Any,
    options: dict[str, Any],
) -> None:
    """Read, fit, save and report."""
    from kolmogorov._support.wording import shown
    from kolmogorov.data.table.split import check_share

    only_yes, wanted = options.pop("only_yes"), options.pop("bayes")
    bayes = _draws(wanted, options)
    layout = {name: options.pop(name) for name in LAYOUT}
    scale = {name: options.pop(name) for name in SCALE}
    if not bayes:
        options["unobserved"] = "auto" if only_yes else 0.0
        if given_of(_OF_RATINGS):
            if given_of(["learn_from"]) and options["learn_from"] == "draws":
                refuse_given(_OF_RATINGS, "goes only with --learn-from ratings")
            options["learn_from"] = "ratings"
    if only_yes:
        # Lists gain by more than can be read at a glance.
        events = _LISTING_EVENTS if events is None else events
        if options["levels"] is None and options["learn_from"] == "draws":
            options["levels"] = "chances"
    # What is wrong with the settings is said before a file is read, which may take minutes.
    model = _unfitted(bayes, {"n_events": events, "random_state": seed, "n_jobs": jobs}, options)
    model._check_parameters()
    if test_size is not None:
        check_share(test_size)
    files = _parquet_files(data) if _is_cluster(options["execution"]) and test_size is None and not bayes else []
    train: Any
    test = None
    if files:
        train = _remote(files, layout, scale, options["execution"])
    else:
        train = read_input(data, layout, **scale)
        say.print(str(train))
        if test_size is not None:
            train, test = train.split(test_size, random_state=seed, by="user" if only_yes else "entry")
    say.print(_choice(model, train, wanted is None))
    if not bayes and model._why_ratings(train):
        # It has been said, and need not be said again.
        model.learn_from = "ratings"
    (_sample if bayes else _fit_with_bar)(model, train, test, say)
    model.save(output)
    if not say.quiet:
        _results(model, model.fitted_.training if files else train, test, say)
    say.print(f"Model written to {shown(output)}")
    if not bayes and model.interrupted_:
        # What was asked for is not all there; a script should know.
        raise click.exceptions.Exit(INTERRUPTED)


def _device() -> Any:
    """Return the GPU, which must be there before a file is read."""
    from kolmogorov.execution import Cuda

    cuda = Cuda()
    cuda.found()
    return cuda


def _is_cluster(execution: Any) -> bool:
    from kolmogorov.execution import Dask

    return isinstance(execution, Dask)


def _draws(wanted: bool | None, options: dict[str, Any]) -> bool:
    """Tell whether models are drawn: as asked, or unless something of a single model is asked for."""
    single = given_of(_POINT) + (["--levels chances"] if options["levels"] == "chances" else [])
    bayes = not (single or _is_cluster(options["execution"])) if wanted is None else wanted
    if bayes:
        refuse_given(_POINT, "does not go with --bayes")
        if options["levels"] == "chances":
            raise click.UsageError("--levels chances: does not go with --bayes.")
    elif wanted is None:
        asked = ", ".join(single) or "--dask"
        refuse_given(_CHAINS, f"goes only with --bayes, and {asked} asks for one model")
    else:
        refuse_given(_CHAINS, "goes only with --bayes")
    return bayes


def _remote(files: list[str], layout: dict[str, Any], scale: dict[str, Any], execution: Any) -> Any:
    """Return the table of parquet files that the workers of a cluster read."""
    from kolmogorov.execution import distributed_table

    refuse_given(["wide", "titles"], "does not go with parquet files that a cluster reads")
    more = {name: reading_settings(layout)[name] for name in DISTRIBUTED} | scale
    return distributed_table(execution, files, **more)


def _results(model: Any, train: Any, test: Observations | None, say: Any) -> None:
    """Show scores, and of a single model its events."""
    if model._has_draws:
        _scores(model, train, test, f"{model.posterior_.n_draws} draws")
        return
    only_yes = model.unobserved != 0.0
    if only_yes:
        _announce(model, say)
    if not only_yes or test is not None:
        _scores(model, train, test, f"{model.n_iter_} sweeps", ranking=only_yes)
    _events(model)


def _choice(model: Any, train: Any, by_default: bool) -> str:
    """Say in one line which model is learned, and why."""
    from kolmogorov.data import Observations

    if not model._has_draws:
        why = model._why_ratings(train)
        if why is None:
            return "Learning one model to read and to predict with, from the table that a few short chains complete."
        return f"Learning one model from the ratings{'' if model.learn_from == 'ratings' else f': {why}'}."
    why = " Draws predict best; --point learns one model that can be read, sooner." if by_default else ""
    if not isinstance(train, Observations):
        return f"Drawing models.{why}"
    plan = model._plan(train)
    return f"Drawing models: {plan.n_chains} chains of {plan.n_sweeps} sweeps, {plan.n_events} events.{why}"


def _unfitted(bayes: bool, given: dict[str, Any], options: dict[str, Any]) -> Any:
    """Make the model that the options describe; what is None is left to it."""
    from kolmogorov.model.bayesian import BayesianKolmogorovModel
    from kolmogorov.model.kolmogorov import KolmogorovModel

    if bayes:
        kept = {"levels": "levels", "checkpoint": "checkpoint", "execution": "execution"} | _CHAINS
        given = given | {parameter: options[name] for name, parameter in kept.items()}
    else:
        given = given | {name: value for name, value in options.items() if name not in _CHAINS}
    kind: Any = BayesianKolmogorovModel if bayes else KolmogorovModel
    return kind(**{name: value for name, value in given.items() if value is not None})


def _parquet_files(data: str) -> list[str]:
    """Return the parquet files that a name or a pattern stands for; workers read them, not this process."""
    from glob import glob

    from kolmogorov.data.reading.frames.arrow import is_parquet

    return (sorted(glob(data)) or [data]) if is_parquet(data) else []


def _fit_with_bar(model: KolmogorovModel, train: Observations, test: Observations | None, say: Any) -> None:
    """Fit with a bar that shows the chains, and the distance from what is learned from; what is held out waits."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    parts = (
        "sweeps",
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
    )
    with Progress(*parts, console=say, transient=True, disable=say.quiet or not say.is_terminal) as bar:
        task = bar.add_task("", total=None)

        done: dict[int, int] = {}

        def advance(sweep: Any) -> bool:
            if hasattr(sweep, "chain"):
                done[sweep.chain] = sweep.sweep
                whole = sweep.n_chains * sweep.n_sweeps
                bar.update(task, total=whole, completed=sum(done.values()), description="completing the table")
            else:
                bar.update(task, total=None, completed=sweep.sweep, description=f"rmse {sweep.rmse:.4f}")
            return stopping.is_set()

        model.callback = advance
        with _first_interrupt(say) if model.execution is not None else nullcontext(Event()) as stopping:
            model.fit(train)


@contextmanager
def _first_interrupt(say: Any) -> Iterator[Event]:
    """Let the first Ctrl-C only be noted, so that a fit on a cluster ends after its sweep; the second raises.

    An exception out of nowhere can be lost in a cluster's client, where much happens while objects are deleted.
    """
    stopping = Event()

    def note(number: int, frame: Any) -> None:
        if stopping.is_set():
            raise KeyboardInterrupt
        stopping.set()
        say.print("Ending after this sweep; Ctrl-C again ends at once.")

    before = signal.signal(signal.SIGINT, note)
    try:
        yield stopping
    finally:
        signal.signal(signal.SIGINT, before)


def _sample(model: BayesianKolmogorovModel, train: Observations, test: Observations | None, say: Any) -> None:
    """Sample with a bar that shows the running held-out error."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    parts = ("sweeps", BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*parts, console=say, transient=True, disable=say.quiet or not say.is_terminal) as bar:
        task = bar.add_task("", total=None)
        done: dict[int, int] = {}

        def advance(draw: Any) -> None:
            error = "" if draw.rmse is None else f"held-out rmse {draw.rmse:.4f}"
            done[draw.chain] = draw.sweep
            whole = draw.n_chains * draw.n_sweeps
            bar.update(task, total=whole, completed=sum(done.values()), description=error)

        model.callback = advance
        model.fit(train, test=test)


def _announce(model: KolmogorovModel, say: Any) -> None:
    """Say what unobserved entries count."""
    table = model.fitted_.training
    blank = table.n_users * table.n_items - len(table)
    weight = f"a no of weight {model.unobserved_:.3g}"
    say.print(f"Only yes is recorded: each of {blank:,} unobserved entries counts as {weight}.")


def _scores(model: Any, train: Observations, test: Observations | None, title: str, *, ranking: bool = False) -> None:
    """Show errors, or the scores of lists of ten, with those of simple guesses beside them."""
    from kolmogorov.cli.comparison import scored
    from kolmogorov.cli.display import console, table

    k = 10 if ranking else None
    columns, sentence = scored(model, train if test is None else test, "training" if test is None else "held out", k)
    if test is not None and not ranking:
        columns = {"score": columns.pop("score"), "training": list(model.evaluate(train).values()), **columns}
    console().print(table(title, columns))
    if sentence:
        console().print(sentence)


def _events(model: KolmogorovModel) -> None:
    from kolmogorov.cli.display import console, table

    described = model.events(6)
    console().print(
        table(
            "Events",
            {
                "event": [event.number for event in described],
                "share of users": [event.share for event in described],
                "items": [event.n_items for event in described],
                "its people like more than others": [", ".join(event.items) for event in described],
            },
        )
    )
