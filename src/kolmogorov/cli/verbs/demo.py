"""`kolmogorov demo`: the main job on bundled data, in seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kolmogorov.cli.shell import Verb, doing

if TYPE_CHECKING:
    from kolmogorov.data import Observations
    from kolmogorov.models.kolmogorov import KolmogorovModel


_TREATY = "Treaty on the Prohibition of Nuclear Weapons (2019)"
_IRAN = "Situation of human rights in the Islamic Republic of Iran (2019)"
_ASKED = (
    "Situation of human rights in the Syrian Arab Republic (2019)",
    "Human rights and unilateral coercive measures (2019)",
)


@click.command("demo", cls=Verb)
@click.option("--seed", default=0, show_default=True)
def command(seed: int) -> None:
    """Learn votes of the United Nations' General Assembly and show what was learned.

    Events, a rule that holds, a vote explained, and a country that does not exist.

    \b
    Example:
      kolmogorov demo
    """
    from kolmogorov import KolmogorovModel, datasets
    from kolmogorov.cli.display import console, table

    doing("Fitting the model")
    out = console()
    votes = datasets.load("un-votes", since=2018)
    train, test = votes.split(test_size=0.2, random_state=seed)
    out.print(
        f"The United Nations' General Assembly since 2018: {votes.n_users} countries × {votes.n_items} motions. "
        f"{len(test):,} of {len(votes):,} votes held out.\n"
    )
    model = KolmogorovModel(6, psi="soft", random_state=seed).fit(train)
    right, guess = _called_right(model, train, test)
    out.print(
        f"Held-out votes called right (no, abstain or yes): {right:.1%}   "
        f"(each motion's most frequent vote: {guess:.1%})\n"
    )
    events = model.events(n_items=1, n_users=4)
    columns: dict[str, list[Any]] = {
        "event": [event.number for event in events],
        "share": [f"{event.share:.0%}" for event in events],
        "countries most in it": [", ".join(event.users) for event in events],
        "votes yes more than others on": ["".join(event.items) for event in events],
    }
    out.print(table("The 6 learned events", columns))
    out.print("\nWhat follows from a yes, by the training votes:")
    for rule in model.rules().about(_TREATY)[:3]:
        out.print(f"  {rule}")
    out.print("\nWhy Austria votes for a ban of nuclear weapons:")
    out.print(str(model.explain("Austria", _TREATY)))
    out.print("\nWhat if a country votes yes on that, and yes (or no) on human rights in Iran? From 0, no, to 1, yes:")
    for motion, chances in _what_if(model, votes).items():
        out.print(f"  {motion}: {chances[0]:.2f} (or {chances[1]:.2f})")


def _what_if(model: KolmogorovModel, votes: Observations) -> dict[str, list[float]]:
    """Return what two countries that do not exist are expected to vote on two motions."""
    from kolmogorov import Observations

    row = {votes.items.name(number): number for number in range(votes.n_items)}
    asked = [votes.items.ids[row[title]] for title in (_TREATY, _IRAN)]
    new = Observations.from_arrays(["yes", "yes", "no", "no"], asked * 2, [1, 1, 1, 0], maximum=1)
    theta = dict(zip(new.users.ids, model.fold_in(new), strict=True))
    return {title: [float(theta[one] @ model.psi_[row[title]]) for one in ("yes", "no")] for title in _ASKED}


def _called_right(model: KolmogorovModel, train: Observations, test: Observations) -> tuple[float, float]:
    """Return the shares of votes (0, 1/2 or 1) that the nearest to a prediction, and the most frequent, get right."""
    import numpy as np

    told = np.round(2 * model.predict(test, output="probability")).astype(int)
    counts = np.zeros((train.n_items, 3))
    np.add.at(counts, (train.item_rows(), np.round(2 * train.values).astype(int)), 1)
    truth = np.round(2 * test.values).astype(int)
    return float((told == truth).mean()), float((counts.argmax(axis=1)[test.item_rows()] == truth).mean())
