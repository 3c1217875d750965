"""Verbs that learn: `fit`, `update`, `tune`."""

from __future__ import annotations

from typing import Any

import click

import kolmogorov as km
from kolmogorov._support.display import silence
from kolmogorov.cli.display import counting_bar, held_out_scores, out, show, tell, understood
from kolmogorov.cli.options import DATA, LAYOUT, MODEL, READING, loaded, options, pair_texts, read_input, refuse_strange
from kolmogorov.cli.shell import INTERRUPTED, SETTABLE, Verb, doing, flag_of

_OF_MODELS = ("n_events", "psi", "learn_from", "random_state", "n_jobs")


@click.command("fit", cls=Verb)
@DATA
@options("output", "n_events", "psi", output={"required": True})
@click.option(
    "--bayes/--point",
    default=None,
    help="Fit an average of models (most accurate, with intervals), or one model that you can read.  [default: "
    "--bayes, unless something is asked for that only one model has]",
)
@options("learn_from", "users", "items", "test_size", "random_state", "n_jobs", "gpu", "quiet", *READING)
def fit(data: str, output: str, test_size: float | None, quiet: bool, **given: Any) -> None:
    """Learn a model from DATA and write it to a file.

    DATA has a user, an item and a value per line: text of any separator, compressed or not, parquet, a directory of
    parquet files, "-" for standard input, or dataset:NAME of `kolmogorov data list`. Values are numbers, or yes and no.
    --wide reads a table with a column for each item. --set also takes the model's own parameters: n_chains=4,
    user_reg=30.

    \b
    Examples:
      kolmogorov fit ratings.csv -o model.km
      kolmogorov fit ratings.csv --point --n-events 8 --test-size 0.2 -o model.km
      kolmogorov fit u.data --maximum 5 --learn-from ratings --set user_reg=30 -o ml.km
      kolmogorov fit clicks.csv --implicit --test-size 0.2 -o clicks.km
      kolmogorov fit votes.csv --map yes=1,abstain=0.5,no=0 --missing absent --titles motions.csv -o votes.km
      zcat votes.tsv.gz | kolmogorov fit - -o votes.km
    """
    if output == "-":
        raise click.UsageError("A model is written to a file, not to standard output.")
    if quiet:
        click.get_current_context().with_resource(silence())
    # What is wrong with the settings is said before a file is read, which may take minutes.
    model = _unfitted(given)
    model._check_parameters()
    table = read_input(data, given)
    tell(*understood(table))
    train, test = table, None
    if test_size is not None:
        train, test = table.split(
            test_size, random_state=given["random_state"], by="user" if given["implicit"] else "entry"
        )
    beside = _attributes(train, given)
    other = " --point fits one that you can read, sooner." if model._has_draws and given["bayes"] is None else ""
    tell(f"Fitting a {type(model).__name__}.{other}")
    doing(None)
    _fit(model, train, beside)
    model.save(output)
    if not quiet:
        doing("Measuring errors")
        _results(model, test)
    tell(f"Model written to {output}")
    if getattr(model, "interrupted_", False):
        # What was asked for is not all there; a script should know.
        raise click.exceptions.Exit(INTERRUPTED)


def _unfitted(given: dict[str, Any]) -> Any:
    """Make the model: draws, unless something is asked for that only one model, or one of lists, has."""
    draws, one, lists = kinds = km.BayesianKolmogorovModel, km.KolmogorovModel, km.ListModel
    known: dict[Any, set[str]] = {kind: set(kind._get_param_names()) for kind in kinds}
    own, settings, bayes = set().union(*known.values()), given["settings"], given["bayes"]
    refuse_strange(settings, sorted(own | {*SETTABLE}))
    asked = {name: given[name] for name in _OF_MODELS if given[name] is not None}
    # What is left is for the reader.
    asked |= {name: settings.pop(name) for name in own & settings.keys()}
    if given["gpu"]:
        asked["execution"] = km.Cuda()
        asked["execution"].found()
    kind: Any = draws
    if given["implicit"] and bayes is None and asked.keys() <= known[lists]:
        kind = lists
    elif not bayes and (bayes is False or given["implicit"] or asked.keys() - known[draws]):
        kind = one
        asked |= {"unobserved": "auto"} if given["implicit"] else {}
    for name in sorted(asked.keys() - known[kind]):
        flag = flag_of(name) if name in _OF_MODELS else f"--set {name}"
        only = "--bayes" if name in known[draws] else "--point" if name in known[one] else "--implicit"
        raise click.UsageError(f"{flag}: goes only with {only}; this fits a {kind.__name__}.")
    return kind(**asked)


def _attributes(table: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Read what --users and --items name beside a table, and say what was understood."""
    from kolmogorov.data.attributes import read_attributes

    found: dict[str, Any] = {}
    for side in ("users", "items"):
        if given[side] is not None:
            found[side] = read_attributes(given[side], getattr(table, side), side)  # type: ignore[arg-type]
            tell(*found[side].lines(side))
    return found


def _fit(model: Any, train: Any, beside: dict[str, Any]) -> None:
    """Fit with a bar that shows chains or, of one model, the error in training."""
    draws, done = model._has_draws, dict[int, int]()
    with counting_bar("sweeps") as move:

        def advance(sweep: Any) -> None:
            if hasattr(sweep, "chain"):
                done[sweep.chain] = sweep.sweep
                move(sum(done.values()), sweep.n_chains * sweep.n_sweeps, "" if draws else "completing the table")
            else:
                move(sweep.sweep, None, f"rmse {sweep.rmse:.4f}")

        model.callback = advance
        model.fit(train, **beside)


def _results(model: Any, test: Any) -> None:
    """Show errors on what was held out, and of a single model its events."""
    if test is None:
        tell("No ratings were held out, and nothing is known of errors: --test-size 0.2 measures them.")
    else:
        columns, sentence = held_out_scores(model, test, 10 if model._is_only_yes else None)
        show(f"On {len(test):,} ratings held out", columns)
        out(*sentence)
    if not model._has_draws:
        events = model.events(6)
        columns = {"event": [event.number for event in events], "share of users": [event.share for event in events]}
        columns["items"] = [event.n_items for event in events]
        columns["liked more than by others"] = [", ".join(event.items) for event in events]
        show("Events", columns)


@click.command("update", cls=Verb)
@MODEL
@click.argument("data", type=click.Path(), required=False)
@options("output", "remove", "forget", "users", "items", "random_state", "n_jobs", *LAYOUT, output={"required": True})
def update(model: str, data: str | None, output: str, remove: str | None, **given: Any) -> None:
    """Take the ratings in DATA into MODEL without fitting it again.

    Ratings of new users and items are added, and ratings that MODEL has already are corrected. Users and items whose
    ratings change are learned again, given all others. DATA is read as the file was that MODEL was fitted to, unless
    options say otherwise. The new model replaces a file in one step, and a server that serves the file notices.

    \b
    Examples:
      kolmogorov update model.km today.csv -o model.km
      kolmogorov update model.km --remove mistakes.csv --forget 196 -o model.km
      kolmogorov update model.km today.csv --items new_films.csv -o model.km
    """
    new, forget = {side: given.pop(side) for side in ("users", "items")}, given["forget"]
    if data is None and remove is None and not forget and not any(new.values()):
        raise click.UsageError("Give DATA, --remove or --forget, or new --users or --items.")
    changed = loaded(model, {})
    changed.set_params(random_state=given["random_state"], n_jobs=given["n_jobs"])
    before, ratings, pairs = changed.fitted_.training, None, None
    try:
        if data is not None:
            ratings = read_input(data, given, like=changed.fitted_)
        if remove is not None:
            pairs = list(zip(*pair_texts(remove, changed.fitted_, given), strict=True))
    except km.errors.EmptyDataError as error:
        tell(f"{error} It changes nothing.")
    doing("Updating the model")
    leaving = [changed.users_.parse(name) for name in forget] or None
    changed.update(ratings, remove=pairs, forget=leaving, **new).save(output)
    after = changed.fitted_.training
    sizes = [f"{len(each):,} ratings of {each.n_users:,} users × {each.n_items:,} items" for each in (before, after)]
    tell(f"{sizes[0]} before, {sizes[1]} now." if after is not before else "No rating has changed.")


@click.command("tune", cls=Verb)
@DATA
@options("grid", "folds", "output", "max_seconds", "random_state", "n_jobs", *READING)
def tune(data: str, output: str | None, folds: int, grid: Any, **given: Any) -> None:
    """Find good settings of a KolmogorovModel by cross-validation, and refit the best.

    Settings are compared on held-out parts of DATA; the best is fitted again to all of it. Ctrl-C stops the search and
    takes the best so far. Below the table are the errors of simple guesses on the same parts.

    \b
    Examples:
      kolmogorov tune ratings.csv -o model.km
      kolmogorov tune ratings.csv --try psi=binary,soft --try n_events=4,8 --max-seconds 300
      kolmogorov tune ratings.csv --try n_events=8,16,24 --try user_reg=10,30,100 --folds 5
    """
    from kolmogorov.models import metrics, tuning

    model = km.KolmogorovModel(n_jobs=given["n_jobs"], unobserved="auto" if given["implicit"] else 0.0)
    model.learn_from = "ratings" if grid.keys() & set(tuning.OF_RATINGS) else "draws"
    table = read_input(data, given)
    tell(*understood(table))
    doing("Comparing settings")
    with counting_bar("trials") as move:
        found = tuning.tune(
            table,
            folds=folds,
            model=model,
            random_state=given["random_state"],
            refit=output is not None,
            max_seconds=given["max_seconds"],
            callback=lambda setting, score, number, total: move(number, total, f"{score:.4f}"),
            **grid,
        )
    show(f"{folds}-fold cross-validation, best first", found.columns())
    measure, score = found.measure, found.score
    out(f"On the same folds, {measure}: " + ", ".join(f"{name} {value:.4f}" for name, value in found.guesses.items()))
    guesses = {name: {measure: value} for name, value in found.guesses.items()}
    out(*filter(None, [metrics.verdict({measure: score}, guesses, measure)]))
    if output is not None:
        found.model.save(output)
        tell(f"Best setting refitted and written to {output}")
