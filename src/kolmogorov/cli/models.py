"""Models on the command line: made from the options of `fit`, or loaded from files; and the cluster of --dask."""

from __future__ import annotations

import logging
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from kolmogorov.cli.command import doing
from kolmogorov.cli.options import given_of, refuse_given

if TYPE_CHECKING:
    from kolmogorov.cluster.dask import Dask

#: Options of a single model, and those of its descent over ratings.
_SINGLE = ("implicit", "learn_from", "user_solver", "item_solver", "max_iter", "tol", "n_init")
_OF_RATINGS = ("user_reg", "item_reg", "prior", "checkpoint")
_POINT = (*_SINGLE, *_OF_RATINGS)
#: Events of one model with --implicit: lists gain by more than can be read at a glance (benchmarks/only_yes.py).
_LISTING_EVENTS = 48
#: Options of chains, and the parameters of the model that they are.
_CHAINS = {
    "likelihood": "likelihood",
    "chains": "n_chains",
    "burn_in": "burn_in",
    "samples": "n_samples",
    "max_seconds": "max_seconds",
}


def unfitted_model(options: dict[str, Any], **common: Any) -> Any:
    """Make the model that the options of `fit` describe; what is None is left to it.

    `common` are the parameters of both models that the options call otherwise: n_events, random_state, n_jobs,
    execution.
    """
    from kolmogorov.models.bayesian import BayesianKolmogorovModel
    from kolmogorov.models.kolmogorov import KolmogorovModel

    if _wants_lists(options, common["execution"]):
        return _lists(options, common)
    given = common | {"psi": options["psi"]}
    kind: Any = KolmogorovModel
    if _wants_draws(options, common["execution"]):
        kind = BayesianKolmogorovModel
        given |= {parameter: options[name] for name, parameter in _CHAINS.items()}
    else:
        given |= {name: options[name] for name in _POINT if name != "implicit"}
        if given["learn_from"] != "ratings":
            refuse_given(_OF_RATINGS, "goes only with --learn-from ratings")
        given["unobserved"] = "auto" if options["implicit"] else 0.0
        if options["implicit"]:
            given["n_events"] = _LISTING_EVENTS if given["n_events"] is None else given["n_events"]
            if given["psi"] is None and given["learn_from"] == "draws":
                given["psi"] = "soft"
    return kind(**{name: value for name, value in given.items() if value is not None})


def _wants_lists(options: dict[str, Any], execution: Any) -> bool:
    """Tell whether lists are learned: of only-yes data, unless something of another model is asked for."""
    others = [name for name in _POINT if name != "implicit"]
    other = given_of([*others, "psi"]) or options["bayes"] is not None or execution is not None
    return bool(options["implicit"] and not other)


def _lists(options: dict[str, Any], common: dict[str, Any]) -> Any:
    """Make a model of lists."""
    from kolmogorov.models.lists import ListModel

    refuse_given(_CHAINS, "goes only with --bayes, but --implicit fits lists")
    given = {name: common[name] for name in ("n_events", "random_state", "n_jobs")}
    return ListModel(**{name: value for name, value in given.items() if value is not None})


def _wants_draws(options: dict[str, Any], execution: Any) -> bool:
    """Tell whether models are drawn: as asked, or unless something of a single model is asked for."""
    from kolmogorov.cluster.dask import Dask

    wanted, soft = options["bayes"], options["psi"] == "soft"
    single = given_of(_POINT) + (["--psi soft"] if soft else [])
    bayes = not (single or isinstance(execution, Dask)) if wanted is None else bool(wanted)
    if bayes:
        refuse_given(_POINT, "does not go with --bayes")
        if soft:
            raise click.UsageError("--psi soft: does not go with --bayes.")
    elif wanted is None:
        asked = ", ".join(single) or "--dask"
        refuse_given(_CHAINS, f"goes only with --bayes, but {asked} fits one model")
    else:
        refuse_given(_CHAINS, "goes only with --bayes")
    return bayes


def load_with_events(path: str, titles: str | None, otherwise: str, *, lists: bool = False) -> Any:
    """Load a model with events, its items under their titles; a model without any is an error that ends `otherwise`.

    With `lists` a model of lists will do, too.
    """
    from kolmogorov.errors import DataError
    from kolmogorov.models.base import EventModel
    from kolmogorov.models.lists import ListModel
    from kolmogorov.models.loading import load

    doing(f"Loading {path}")
    model = load(path)
    if not isinstance(model, (EventModel, ListModel) if lists else EventModel):
        raise DataError(f"{path} holds a {type(model).__name__}{otherwise}")
    return model.with_titles(items=titles)


def only_yes_in_words(model: Any, train: Any) -> str:
    """Say what became of what was not observed, and of lists what was chosen."""
    from kolmogorov.models.lists import ListModel

    lists = isinstance(model, ListModel)
    weight = model.settings_.unobserved if lists else model.unobserved_
    blank = train.n_users * train.n_items - len(train)
    said = f"Only yes is recorded: each of the {blank:,} unobserved entries counts as a no of weight {weight:.3g}."
    if not lists:
        return said
    chosen = model.settings_
    parts = f"links (ridge {chosen.ridge:.3g}) make {1.0 - chosen.balance:.0%} of a score, events {chosen.balance:.0%}"
    return f"{said} By lists of held-out entries, {parts}."


def check_address(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    """Refuse what is neither local:N nor an address, before anything is read."""
    if text is not None and not re.fullmatch(r"local:[1-9]\d*|(tcp|tls|ws|wss)://\S+", text):
        raise click.BadParameter(
            f"must be local:N or the address of a scheduler such as tcp://host:8786, got {text!r}."
        )
    return text


@contextmanager
def cluster(address: str, shard_ratings: int) -> Iterator[Dask]:
    """Connect to a scheduler, or start workers here: ``local:4`` is four processes of one thread."""
    from kolmogorov._support.optional import require
    from kolmogorov.cluster.dask import Dask
    from kolmogorov.errors import ExecutionError

    distributed: Any = require("distributed", extra="dask", purpose="--dask")
    if address.startswith("local:"):
        workers = int(address.removeprefix("local:"))
        # Ctrl-C goes to the whole terminal. Workers that are started while it is ignored ignore it for good: the
        # command ends by itself, keeping the best state so far, and for that it needs them.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            local = distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address=":0",
                silence_logs=logging.CRITICAL,
            )
        finally:
            signal.signal(signal.SIGINT, before)
        with local, distributed.Client(local) as client:
            yield Dask(client, shard_ratings=shard_ratings)
        return
    try:
        client = distributed.Client(address, timeout=10)
    except (OSError, TimeoutError) as error:
        raise ExecutionError(f"No Dask scheduler answers at {address}: {error}.") from None
    with client:
        yield Dask(client, shard_ratings=shard_ratings)
