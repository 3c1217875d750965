"""`kolmogorov fit`: a ratings file in, a model file out."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from threading import Event
from typing import TYPE_CHECKING, Any

import click

from kolmogorov.cli.command import Input, Output, Verb, doing, grouped
from kolmogorov.cli.models import check_address, cluster
from kolmogorov.cli.options import (
    COUNT,
    EVENTS,
    JOBS,
    PSI,
    Finite,
    attribute_options,
    output_option,
    read_attribute_files,
    read_input,
    reading_options,
    refuse_given,
    scale_options,
    tell_source,
    titles_option,
)
from kolmogorov.cli.process import INTERRUPTED

if TYPE_CHECKING:
    from kolmogorov.data import Observations
    from kolmogorov.data.attributes import Attributes

#: Events that are listed after a fit.
_MOST_EVENTS = 16


@click.command("fit", cls=Verb)
@click.argument("data", type=Input(dir_okay=True))
@output_option("Model file to write.", required=True)
@click.option(
    "--events",
    type=EVENTS,
    help="Number of elementary events.  [default: by the size of the table; 48 with --implicit --point]",
)
@click.option(
    "--psi",
    type=PSI,
    help="What an item may be in an event: it happens or not, or (of one model) any number from 0 to 1.  [default: "
    "binary; of draws a grid by the table; soft with --implicit --point]",
)
@click.option(
    "--bayes/--point",
    default=None,
    help="Fit an average of models (most accurate, with intervals), or one model that you can read.  [default: "
    "--bayes, unless an option of --point is given]",
)
@grouped(
    "Average of models (--bayes)",
    click.option(
        "--likelihood",
        type=click.Choice(["auto", "gaussian", "bernoulli"]),
        default="auto",
        show_default=True,
        help="Kind of values: numbers with noise, or yes/no.",
    ),
    click.option("--chains", type=COUNT, help="Independent chains.  [default: by the size of the table]"),
    click.option("--burn-in", type=COUNT, help="First sweeps of each chain, which are dropped.  [default: by size]"),
    click.option("--samples", type=COUNT, help="Draws kept of each chain.  [default: by size]"),
    click.option("--max-seconds", type=Finite(), help="Time limit for the chains; fewer are drawn if needed."),
)
@grouped(
    "One model (--point)",
    click.option(
        "--learn-from",
        type=click.Choice(["draws", "ratings"]),
        default="draws",
        show_default=True,
        help="Fit to a table completed by short chains (draws), or to the ratings alone, as in the paper.",
    ),
    click.option("--user-reg", type=Finite(), help="With --learn-from ratings: ridge on theta.  [default: 10]"),
    click.option("--item-reg", type=Finite(), help="With --learn-from ratings: ridge on psi.  [default: 0]"),
    click.option(
        "--prior",
        type=click.Choice(["mean", "uniform"]),
        default="mean",
        help="With --learn-from ratings: where the ridge pulls theta.  [default: mean]",
    ),
    click.option("--user-solver", default="auto", show_default=True, help="See docs/solvers.md."),
    click.option("--item-solver", default="auto", show_default=True, help="See docs/solvers.md."),
    click.option("--max-iter", type=COUNT, help="Limit on sweeps.  [default: 30; 100 from ratings]"),
    click.option("--tol", default=1e-4, type=Finite(), show_default=True, help="Relative decrease at which to stop."),
    click.option(
        "--n-init", type=COUNT, help="Number of starts; the best is kept.  [default: 2 or 10; 1 from ratings]"
    ),
)
@attribute_options(
    "What is known of users: ages, jobs, ...; new ones can be placed by it.",
    "What is known of items: genres, years, ...; lists as Drama|War.",
)
@click.option("--seed", default=0, show_default=True)
@grouped(
    "Where to compute",
    click.option("--jobs", default=-1, type=JOBS, show_default=True, help="Threads; -1 for all processors."),
    click.option(
        "--dask",
        metavar="WHERE",
        callback=check_address,
        help="Fit on a Dask cluster: local:N for N processes here, or a scheduler's address such as tcp://host:8786.",
    ),
    click.option(
        "--gpu",
        is_flag=True,
        help="Fit on an NVIDIA GPU. Needs the extra 'cuda'.",
    ),
    click.option(
        "--shard-ratings", default=1_000_000, show_default=True, help="With --dask: ratings in a shard, about."
    ),
)
@click.option("--test-size", type=Finite(), help="Hold out this share of the ratings and measure errors on it.")
@click.option("--checkpoint", type=Output(), help="With --learn-from ratings: file to continue from after a crash.")
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

    DATA is a file with a user, an item and a value per line. It may be separated by commas, tabs, '::' or spaces, have
    a header or not, be compressed (.gz, .xz, .bz2, .zip), or be parquet. A directory means the parquet files in it, "-"
    standard input, and dataset:NAME one of `kolmogorov data list`. Values are numbers, or yes and no. --wide reads a
    table with a column for each item.

    \b
    Examples:
      kolmogorov fit ratings.csv -o model.km
      kolmogorov fit ratings.csv --point --events 8 -o model.km
      kolmogorov fit u.data --maximum 5 --learn-from ratings --user-reg 30 --test-size 0.2 -o ml.km
      kolmogorov fit u.data --maximum 5 --test-size 0.2 -o ml.km
      kolmogorov fit u.data --maximum 5 --bayes --max-seconds 60 -o ml.km
      kolmogorov fit ratings.csv --users users.csv --items films.csv -o model.km
      kolmogorov fit clicks.csv --implicit --test-size 0.2 -o clicks.km
      kolmogorov fit table --dask local:4 -o model.km
      kolmogorov fit table --gpu --point --events 16 -o model.km
      kolmogorov fit votes.csv --map yes=1,abstain=0.5,no=0 --missing absent --titles motions.csv -o votes.km
      zcat votes.tsv.gz | kolmogorov fit - -o votes.km
    """
    from kolmogorov._support.progress import silence
    from kolmogorov._support.validation import between, check_parameters
    from kolmogorov.cli.display import console
    from kolmogorov.cli.models import unfitted_model

    if output == "-":
        raise click.UsageError("A model is written to a file, not to standard output.")
    if dask is None:
        refuse_given(["shard_ratings"], "goes only with --dask")
    elif gpu:
        raise click.UsageError("--gpu does not go with --dask: workers of a cluster compute on their processors.")
    say = console(stderr=True)
    say.quiet = quiet
    with ExitStack() as stack:
        if quiet:
            stack.enter_context(silence())
        execution = _gpu() if gpu else None
        if dask is not None:
            execution = stack.enter_context(cluster(dask, shard_ratings))
        # What is wrong with the settings is said before a file is read, which may take minutes.
        model = unfitted_model(options, n_events=events, random_state=seed, n_jobs=jobs, execution=execution)
        model._check_parameters()
        if test_size is not None:
            check_parameters("fit", {"test_size": test_size}, {"test_size": between(0.0, 1.0)})
        train, test = _tables(data, model, test_size, options, say)
        beside = read_attribute_files(train, options, say)
        say.print(_choice(model, train, options["bayes"] is None))
        doing(None)
        _learn(model, (train, test), beside, output, say)


def _learn(
    model: Any, tables: tuple[Any, Observations | None], beside: dict[str, Attributes], output: str, say: Any
) -> None:
    """Fit, save and report."""
    from kolmogorov._support.markup import shown

    train, test = tables
    _fit(model, train, test, beside, say)
    if model._has_draws and model.max_seconds is not None:
        say.print(_time_used(model, train))
    model.save(output)
    doing("Measuring errors")
    if not say.quiet:
        _results(model, train, test, say)
    say.print(f"Model written to {shown(output)}")
    if not model._has_draws and getattr(model, "interrupted_", False):
        # What was asked for is not all there; a script should know.
        raise click.exceptions.Exit(INTERRUPTED)


def _gpu() -> Any:
    """Return the GPU, which must be there before a file is read."""
    from kolmogorov.gpu.cuda import Cuda

    cuda = Cuda()
    cuda.found()
    return cuda


def _tables(data: str, model: Any, test_size: float | None, options: dict[str, Any], say: Any) -> tuple[Any, Any]:
    """Return what to learn from, and what is held out."""
    table = read_input(data, options)
    tell_source(say, table)
    if test_size is None:
        return table, None
    return table.split(test_size, random_state=model.random_state, by="user" if options["implicit"] else "entry")


def _choice(model: Any, train: Any, by_default: bool) -> str:
    """Say in one line which model is learned, and why."""
    from kolmogorov.models.learning import why_ratings
    from kolmogorov.models.lists import ListModel

    if isinstance(model, ListModel):
        return "Fitting lists: what follows from what, and events. --point fits one model of events alone."
    if not model._has_draws:
        why = why_ratings(model, train)
        if why is None:
            return "Fitting one model that you can read, from a table completed by short chains."
        return f"Fitting one model from the ratings{'' if model.learn_from == 'ratings' else f': {why}'}."
    other = " --point fits one you can read, sooner." if by_default else ""
    words = "Fitting an average of models (most accurate)"
    plan = model._plan(train, learned=False)
    events = "" if model.n_events == "auto" else f", {plan.n_events} events"
    return f"{words}: {'up to ' if plan.enough else ''}{plan.n_chains} chains of {plan.n_sweeps} sweeps{events}.{other}"


def _time_used(model: Any, train: Any) -> str:
    """Say what --max-seconds left of the chains."""
    plan, drawn = model._plan(train, learned=False), model.posterior_
    kept = drawn.n_draws // drawn.n_chains
    parts = []
    if drawn.n_chains < plan.n_chains:
        parts.append(f"{drawn.n_chains} of {plan.n_chains} chains")
    if kept < plan.n_samples:
        parts.append(f"{kept} of {plan.n_samples} draws of each chain")
    if not parts:
        return f"All {plan.n_chains} chains were drawn within {model.max_seconds:g} s."
    return f"Stopped at {model.max_seconds:g} s: {', '.join(parts)}."


def _fit(model: Any, train: Any, test: Observations | None, beside: dict[str, Attributes], say: Any) -> None:
    """Fit with a bar that shows chains, and an error: of draws on what is held out, of one model in training."""
    from kolmogorov.cli.display import ChainSweeps, counting_bar
    from kolmogorov.cli.process import first_interrupt
    from kolmogorov.models.learning import why_ratings

    draws, chains = model._has_draws, ChainSweeps()
    if hasattr(model, "learn_from") and why_ratings(model, train):
        # It has been said, and need not be said again.
        model.learn_from = "ratings"
    noted = first_interrupt(say.print) if model.execution is not None and not draws else nullcontext(Event())
    with counting_bar(say, "sweeps", remaining=draws) as show, noted as stopping:

        def advance(sweep: Any) -> bool:
            if not hasattr(sweep, "chain"):
                show(sweep.sweep, None, f"rmse {sweep.rmse:.4f}")
            elif draws:
                show(*chains.counted(sweep), "" if sweep.rmse is None else f"held-out rmse {sweep.rmse:.4f}")
            else:
                show(*chains.counted(sweep), "completing the table")
            return stopping.is_set()

        model.callback = advance
        model.fit(train, **({"test": test} if draws else {}), **beside)


def _results(model: Any, train: Any, test: Observations | None, say: Any) -> None:
    """Show scores, and of a single model its events."""
    from kolmogorov.cli.display import console, show_scores, table
    from kolmogorov.cli.models import only_yes_in_words

    if model._has_draws:
        show_scores(model, train, test, f"{model.posterior_.n_draws} draws")
        return
    only_yes = model.unobserved != 0.0
    if only_yes:
        say.print(only_yes_in_words(model, train))
    if not only_yes or test is not None:
        show_scores(model, train, test, "Lists" if only_yes else f"{model.n_iter_} sweeps", ranking=only_yes)
    found = model.events(6)
    described = sorted(sorted(found, key=lambda event: -event.share)[:_MOST_EVENTS], key=lambda event: event.number)
    columns = {
        "event": [event.number for event in described],
        "share of users": [event.share for event in described],
        "items": [event.n_items for event in described],
        "liked more than by others": [", ".join(event.items) for event in described],
    }
    more = len(found) - len(described)
    title = "Events" if not more else f"The {len(described)} largest of {len(found)} events; a report shows all"
    console().print(table(title, columns))
