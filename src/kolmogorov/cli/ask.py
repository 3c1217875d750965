"""Verbs that ask a model: `predict`, `recommend`, `explain`, `rules`, `evaluate`, `report`."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

import kolmogorov as km
from kolmogorov.cli.display import chosen_format, emit, emit_json, held_out_scores, out, tell, without_ratings
from kolmogorov.cli.options import DATA, LAYOUT, MODEL, loaded, options, pair_texts, read_input, reading_like, told
from kolmogorov.cli.shell import Verb, doing


@click.command("predict", cls=Verb)
@MODEL
@click.argument("data", default="-", type=click.Path())
@options("output", "users", "items", "unknown", "interval", *LAYOUT, unknown={"default": "average"})
def predict(model: str, data: str, output: str | None, unknown: Any, interval: float | None, **given: Any) -> None:
    """Predict the rating of every (user, item) pair in DATA, or complete a table of people whom MODEL does not know.

    Of pairs comes CSV with the probability and the rating of each, or one of them where they are the same; a model of
    `fit --implicit` has a score instead. DATA is text as `fit` takes it, parquet, or a packed table; all columns but
    the user's and the item's are ignored.

    A table with a column for each item, with ids or without, comes back completed: answers stay, and empty cells hold
    the rating that is expected given the other answers of the row. A list of ratings is completed, too, where MODEL
    knows none of its users: out comes what they did not rate.

    \b
    Examples:
      kolmogorov predict model.km pairs.csv -o predictions.csv
      printf '196,242\\n' | kolmogorov predict model.km
      kolmogorov predict model.km survey.csv -o completed.csv
      kolmogorov predict bayes.km pairs.csv --interval 0.9
    """
    from kolmogorov.models.ids import pair_rows
    from kolmogorov.models.ranking import predicted_columns

    fitted_model = loaded(model, given | {"titles": None})
    fitted = fitted_model.fitted_
    if interval is not None and not fitted_model._has_draws:
        name = type(fitted_model).__name__
        raise km.errors.ParameterError(f"A {name} has no intervals. Fit with --bayes to get them.")
    with tempfile.TemporaryDirectory() as folder:
        doing("Reading standard input" if data == "-" else f"Reading {data}")
        if data == "-":
            # It is looked at before it is read. Errors name the copy.
            if sys.stdin is None:
                raise km.errors.DataError("Standard input is closed. Name a file, or pipe lines in.")
            data = str(Path(folder, "standard input"))
            Path(data).write_bytes(sys.stdin.buffer.read())
        columns = _completed_table(fitted_model, data, given)
        if columns is None:
            users, items = pair_texts(data, fitted, given)
            columns = _completed_list(fitted_model, data, users, given)
    if columns is None:
        doing(f"Predicting {len(users):,} pairs")
        rows, _ = pair_rows(fitted, users, items, unknown)
        columns = {"user": users, "item": items}
        if fitted_model._has_draws:
            probability, deviation = fitted.moments(*rows)
            columns |= {"probability": probability, "std": deviation, "rating": fitted.scale.rating(probability)}
        else:
            columns |= predicted_columns(fitted, fitted.at_rows(*rows))
        if interval is not None:
            columns["low"], columns["high"] = fitted.rating_interval(*rows, interval)
        columns = without_ratings(columns, fitted.scale)
    emit(columns, "csv", output)


def _completed_table(model: Any, path: str, given: dict[str, Any]) -> dict[str, Any] | None:
    """Complete a table of new rows; None where it has no columns that are called as items."""
    import numpy as np
    import pyarrow as pa

    from kolmogorov.data.packed import is_table
    from kolmogorov.data.read import read_as_told
    from kolmogorov.data.sources import TextSource, sources_of

    fitted, words, own = model.fitted_, told(given), ("map", "missing", "decimal")
    words = {name: fitted.recipe[name] for name in own if name in fitted.recipe} | words
    if is_table(path) or fitted.has_scores:
        return None
    source, *others = sources_of(path, sep=words.get("sep", "auto"), encoding=words.get("encoding", "auto"))
    names = [str(name) for name in (source.first if isinstance(source, TextSource) else source.names)]
    rows = fitted.items.rows_of(list(map(fitted.items.parse, names)))
    # One column may be called as an item by chance, and a line of pairs may hold an id that is a user's and an item's.
    a_pair = len(names) < 4 and (names[0].isdecimal() or fitted.users.rows_of(names[:1])[0] >= 0)
    if others or a_pair or (rows >= 0).sum() < 2:
        return None
    if fitted.recipe.get("scale") == "column":
        raise km.errors.DataError(
            "The model does not keep the scales of its columns. In Python KolmogorovImputer does."
        )
    if isinstance(source, TextSource):
        source.take_header()
    parts = list(source.batches(range(len(names))))
    cells = [pa.chunked_array([part[k].cast(pa.string()) for part in parts]) for k in range(len(names))]
    known = {fitted.items.ids[row]: cell for row, cell in zip(rows, cells, strict=True) if row >= 0}
    table = pa.table({"": list(map(str, range(len(cells[0])))), **known})
    answers = read_as_told(table, reading_like(fitted, words, wide=True, user=0, ignore=()))
    doing(f"Completing {len(table):,} rows")
    # A row without an answer is an average one.
    every = np.arange(len(fitted.items))
    found = np.tile(fitted.at_rows(np.full(every.size, len(fitted.users)), every), (len(table), 1))
    row_of = answers.users.ids.astype(np.int64)
    found[row_of] = model._guests(answers).said(slice(None), None)
    found = fitted.scale.rating(np.clip(found, 0.0, 1.0))
    at = row_of[answers.user_rows()], fitted.items.rows_of(answers.items.ids.tolist())[answers.item_rows()]
    found[at] = answers.scale.rating(answers.values)
    tell(f"{len(table):,} rows with {len(answers):,} answers to {len(known):,} of {every.size:,} items: completed.")
    columns: dict[str, Any] = {}
    for name, row, cell in zip(names, rows, cells, strict=True):
        columns[name] = cell.to_pylist() if row < 0 else found[:, row]
    return columns | {fitted.items.ids[row]: found[:, row] for row in np.setdiff1d(every, rows)}


def _completed_list(model: Any, path: str, users: list[str], given: dict[str, Any]) -> dict[str, Any] | None:
    """Predict what new users did not rate; None where the model knows some of them, or there are no ratings."""
    import numpy as np

    from kolmogorov.models.ranking import predicted_columns

    fitted = model.fitted_
    if fitted.recipe.get("implicit") or any((fitted.users.rows_of(few) >= 0).any() for few in (users[:1000], users)):
        return None
    try:
        ratings = read_input(path, given, like=fitted)
    except km.errors.DataError:
        return None
    expected, items = model._guests(ratings).said(slice(None), None), fitted.items.rows_of(ratings.items.ids.tolist())
    blank, rated = np.ones(expected.shape, dtype=bool), items[ratings.item_rows()]
    blank[ratings.user_rows()[rated >= 0], rated[rated >= 0]] = False
    tell(f"The model knows none of the {len(ratings.users):,} users: completed from their {len(ratings):,} ratings.")
    new, which = np.nonzero(blank)
    columns = {"user": ratings.users.ids[new], "item": fitted.items.ids[which]}
    return without_ratings(columns | predicted_columns(fitted, expected[blank]), fitted.scale)


@click.command("recommend", cls=Verb)
@MODEL
@click.argument("who", nargs=-1, metavar="[USER]...")
@options("ratings", "n", "min_count", "include_seen", "users", "items", "unknown", "format", "output", *LAYOUT)
def recommend(model: str, who: tuple[str, ...], ratings: str | None, n: int, **given: Any) -> None:
    """List the items that each USER, whom the model knows, or new users will most probably like.

    \b
    Examples:
      kolmogorov recommend model.km 196 --n 5
      kolmogorov recommend model.km --ratings my_ratings.csv --format csv
      kolmogorov recommend model.km 196 --items new_films.csv
    """
    if bool(who) == (ratings is not None):
        raise click.UsageError("Give users that the model knows, or --ratings of new ones.")
    fitted_model = loaded(model, given)
    whom: Any = list(who) if len(who) > 1 else next(iter(who), None)
    if ratings is not None:
        whom = read_input(ratings, given, like=fitted_model.fitted_)
    doing("Ranking items")
    asked = {"min_count": given["min_count"], "unknown": given["unknown"], "exclude_seen": not given["include_seen"]}
    columns = without_ratings(fitted_model._asked(whom, n, **asked), fitted_model.scale_)
    emit(columns, given["format"], given["output"], f"For {', '.join(who) or 'new users'}")


@click.command("explain", cls=Verb)
@MODEL
@click.argument("user")
@click.argument("item")
@options("users", "items", "unknown", "titles", "format", "output")
def explain(model: str, user: str, item: str, unknown: Any, format: str, output: str | None, **given: Any) -> None:
    """Explain the prediction for USER and ITEM, an id or a title, by events and rules.

    Shows what everybody would get, what each event changes, and which rules apply.

    \b
    Examples:
      kolmogorov explain model.km dolphin milk
      kolmogorov explain model.km dolphin milk --format json
      kolmogorov explain model.km 196 2001 --items new_films.csv
    """
    fitted_model = loaded(model, given)
    doing("Explaining the prediction")
    why = fitted_model.explain(user, item, unknown=unknown)
    columns, chosen = why.columns(), chosen_format(format, output)
    if chosen == "table":
        out(*str(why).split("\n"))
    elif chosen == "csv":
        emit(columns, "csv", output)
    else:
        found = {"user": why.user, "item": why.item, "sentence": why.sentence, **why.said}
        found["parts"] = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        emit_json(found | {"rules": [asdict(reason) for reason in why.reasons]}, output)


@click.command("rules", cls=Verb)
@MODEL
@options("data", "about", "likes", "n", "max_antecedents", "basis", "format", "output", *LAYOUT, n={"default": 20})
def rules(model: str, data: str | None, n: int, basis: bool, format: str, output: str | None, **given: Any) -> None:
    """Show the rules between items that MODEL states and its training data confirm.

    The data confirm a rule if it holds more often than chance, given how readily its users say yes: a test at 5%,
    corrected for all pairs of items. Rules that surely raise the base rate most come first. With --data they are
    counted again on ratings that the model was not trained on, and what held there is said where there are 20 cases.
    csv and json have all columns.

    \b
    Examples:
      kolmogorov rules model.km --n 50
      kolmogorov rules model.km --data ratings.csv --about "Toy Story (1995)" --likes 0.8
      kolmogorov rules model.km --max-antecedents 2 --basis --format csv -o rules.csv
    """
    fitted_model = loaded(model, given)
    if not hasattr(fitted_model, "rules"):
        raise km.errors.DataError(f"{model} holds a {type(fitted_model).__name__}, which has no rules.")
    judges = None if data is None else _not_trained_on(fitted_model, data, given)
    doing("Finding rules")
    found = fitted_model.rules(likes=given["likes"], max_antecedents=given["max_antecedents"])
    found = found if given["about"] is None else found.about(given["about"])
    chosen = (found.basis() if basis else found)[:n]
    test = None if judges is None else chosen.on(judges)
    if chosen_format(format, output) == "table":
        title = f"{len(chosen):,} of {found.title}:" if len(chosen) else found.none
        out(title, *(f"  {sentence}" for sentence in chosen.sentences(test)))
        return
    more = {} if test is None else {"support_held_out": test.support, "held_held_out": test.held}
    emit(chosen.columns() | more, format, output)


def _not_trained_on(model: Any, data: str, given: dict[str, Any]) -> Any:
    """Read ratings to judge a model by: those that it was not fitted to."""
    from kolmogorov.models.metrics import held_out

    observations = read_input(data, given, like=model.fitted_)
    fresh = held_out(model.fitted_, observations)
    if len(observations) and not len(fresh):
        raise km.errors.DataError(
            f"The model was trained on all {len(observations):,} ratings of {data}: nothing is learned from its errors "
            "there. Give other ratings, or fit with --test-size 0.2."
        )
    return fresh


@click.command("evaluate", cls=Verb)
@MODEL
@DATA
@options("ranking", "k", "format", "output", *LAYOUT)
def evaluate(model: str, data: str, ranking: bool, k: int, format: str, output: str | None, **given: Any) -> None:
    """Compare the predictions of MODEL with the ratings in DATA that it was not trained on.

    Errors are given on the probability scale and in rating units; for 0/1 data also accuracy, log loss and Brier score.
    Simple guesses (means, user and item biases) stand beside them. --ranking compares lists with what users like in
    DATA: the upper half of the ratings; the list of the most popular items stands beside it. To test settings by
    cross-validation, see `kolmogorov tune`.

    \b
    Examples:
      kolmogorov evaluate model.km test.csv --format json
      kolmogorov evaluate clicks.km later.csv --ranking --k 20
    """
    fitted_model = loaded(model, given)
    fresh = _not_trained_on(fitted_model, data, given)
    doing(f"Scoring {len(fresh):,} ratings")
    columns, sentence = held_out_scores(fitted_model, fresh, k if ranking or fitted_model._is_only_yes else None)
    emit(columns, format, output, f"On {len(fresh):,} ratings that the model was not trained on")
    if sentence:
        tell(*sentence)


@click.command("report", cls=Verb)
@MODEL
@options("data", "output", "title", "likes", "nouns", *LAYOUT, output={"default": "report.html"})
def report(model: str, data: str | None, output: str, title: str | None, **given: Any) -> None:
    """Write an HTML page that shows MODEL and how good it is. It needs no network and no server.

    As --data give the whole file that you fitted with --test-size: the held-out part is found automatically.

    \b
    Examples:
      kolmogorov fit ratings.csv --n-events 8 --test-size 0.2 -o model.km
      kolmogorov report model.km --data ratings.csv -o report.html
      kolmogorov report zoo.km --data dataset:zoo --nouns animal trait
    """
    from kolmogorov.report import data_name

    fitted_model = loaded(model, given)
    observations = None if data is None else read_input(data, given, like=fitted_model.fitted_)
    title = title or data_name(fitted_model.fitted_, observations) or Path(model).stem
    more: Any = {"likes": given["likes"], "nouns": given["nouns"], "progress": lambda words: doing(f"Report: {words}")}
    fitted_model.report(output, observations, title=title, **more)
    tell(f"Written to {output} ({Path(output).stat().st_size / 1e6:.1f} MB); open it in a browser.")
