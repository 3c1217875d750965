"""`kolmogorov demo`: the main job on bundled data, in seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kolmogorov.cli.command import Verb, doing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kolmogorov.data import Observations
    from kolmogorov.model.kolmogorov import KolmogorovModel


_TREATY = "Treaty on the Prohibition of Nuclear Weapons (2019)"
_IRAN = "Situation of human rights in the Islamic Republic of Iran (2019)"
_ASKED = (
    "Situation of human rights in the Syrian Arab Republic (2019)",
    "Human rights and unilateral coercive measures (2019)",
)


@click.command("demo", cls=Verb)
@click.argument("what", type=click.Choice(["un-votes", "zoo", "digits"]), default="un-votes")
@click.option("--seed", default=0, show_default=True)
def command(what: str, seed: int) -> None:
    """Learn a small table and show what was learned.

    Votes of the United Nations' General Assembly (un-votes), animals and their traits (zoo), handwritten digits and
    their pixels (digits).

    \b
    Examples:
      kolmogorov demo
      kolmogorov demo zoo
      kolmogorov demo digits
    """
    doing("Fitting the model")
    {"un-votes": _un_votes, "zoo": _zoo, "digits": _digits}[what](seed)


def _un_votes(seed: int) -> None:
    """Show votes of countries: events, a rule that holds, a vote explained, and a country that does not exist."""
    from kolmogorov import KolmogorovModel, datasets
    from kolmogorov.cli.display import console, table

    out = console()
    votes = datasets.load("un-votes", since=2018)
    train, test = votes.split(test_size=0.2, random_state=seed)
    out.print(
        f"The United Nations' General Assembly since 2018: {votes.n_users} countries × {votes.n_items} motions. "
        f"{len(test):,} of {len(votes):,} votes held out.\n"
    )
    model = KolmogorovModel(6, levels="chances", random_state=seed).fit(train)
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
    for rule in model.relations().rules(train, item=_TREATY, max_rules=3):
        out.print(f"  {rule}")
    _say_why("Why Austria votes for a ban of nuclear weapons", model, "Austria", _TREATY)
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

    told = np.round(2 * model.predict(test)).astype(int)
    counts = np.zeros((train.n_items, 3))
    np.add.at(counts, (train.item_rows(), np.round(2 * train.values).astype(int)), 1)
    truth = np.round(2 * test.values).astype(int)
    return float((told == truth).mean()), float((counts.argmax(axis=1)[test.item_rows()] == truth).mean())


def _zoo(seed: int) -> None:
    model = _yes_or_no("zoo", 5, ("animals", "trait"), seed)
    _say_why("Why the dolphin gives milk", model, "dolphin", "milk")


def _say_why(title: str, model: KolmogorovModel, user: str, item: str) -> None:
    from kolmogorov.cli.display import console

    console().print(f"\n{title}:")
    console().print(str(model.explain(user, item)))


def _yes_or_no(name: str, n_events: int, nouns: tuple[str, str], seed: int) -> KolmogorovModel:
    """Show a table of yes and no, and return the model."""
    from kolmogorov import KolmogorovModel, datasets
    from kolmogorov.cli.display import console, table

    out = console()
    obs = datasets.load(name)
    train, test = obs.split(test_size=0.2, random_state=seed)
    out.print(f"{name.capitalize()}: {datasets.names()[name]}. {len(test):,} of {len(obs):,} cells held out.\n")
    model = KolmogorovModel(n_events=n_events, random_state=seed).fit(train)
    guess = _constant_guess(train, test)
    accuracy = model.evaluate(test)["accuracy"]
    out.print(f"Accuracy on held-out cells: {accuracy:.1%}   (best constant guess per {nouns[1]}: {guess:.1%})\n")
    out.print(_events_table(model, nouns, 20))
    out.print("\nStrongest rules that the training cells support, counted on the whole table:")
    rules = model.relations().rules(train, max_rules=10).on(obs)
    columns: dict[str, list[Any]] = {
        "rule": [f"{left} ⇒ {right}" for left, right in zip(*rules.names(), strict=True)],
        "holds for": [f"{held} of {seen}" for held, seen in zip(rules.held, rules.support, strict=True)],
        "holds anyway for": [f"{rate:.0%}" for rate in rules.base_rate],
    }
    out.print(table(None, columns))
    return model


def _constant_guess(train: Observations, test: Observations) -> float:
    """Return the accuracy of guessing each item's more frequent answer in the training part."""
    import numpy as np

    ones = np.bincount(train.item_rows(), weights=train.values, minlength=train.n_items)
    reaching = ones * 2 >= train.columns.counts
    return float((reaching[test.item_rows()] == (test.values == 1.0)).mean())


def _events_table(model: KolmogorovModel, nouns: tuple[str, str], n_items: int) -> Any:
    """Describe events by their items and by the users that are almost surely in them."""
    from kolmogorov.cli.display import table

    described = model.events(n_items=n_items)
    examples = []
    for event in described:
        order = model.theta_[:, event.number].argsort()[::-1][:4]
        examples.append(", ".join(model.users_.name(row) for row in order))
    return table(
        f"The {len(described)} learned events",
        {
            "event": [event.number for event in described],
            "share": [f"{event.share:.0%}" for event in described],
            f"{nouns[1]}s": [", ".join(event.items) for event in described],
            f"{nouns[0]} most in it": examples,
        },
    )


def _digits(seed: int) -> None:
    import numpy as np

    from kolmogorov import KolmogorovModel, datasets
    from kolmogorov.cli.display import console

    out = console()
    digits = datasets.load("digits")
    train, test = digits.split(test_size=0.2, random_state=seed)
    out.print(f"Digits: {digits.n_users:,} images × {digits.n_items} pixels; {len(test):,} pixels held out.\n")
    model = KolmogorovModel(n_events=10, user_reg=0.3, random_state=seed).fit(train)
    sums = np.bincount(train.item_rows(), weights=train.values, minlength=train.n_items)
    mean = sums / np.maximum(train.columns.counts, 1)
    baseline = float(np.sqrt(((mean[test.item_rows()] - test.values) ** 2).mean()))
    out.print(
        f"Held-out error: {model.evaluate(test)['rmse']:.4f}   (each pixel's mean: {baseline:.4f}; ink from 0 to 1)\n"
    )
    shares = model.theta_.mean(axis=0)
    out.print("The 10 learned events; each image is a mixture of them:\n")
    for first in range(0, 10, 5):
        out.print("\n".join(_pictures(model.psi_[:, first : first + 5], shares[first : first + 5], first)) + "\n")


def _pictures(psi: NDArray[np.bool_], shares: NDArray[np.float64], first: int) -> list[str]:
    """Draw columns of psi as 8 × 8 pictures side by side, two pixels to a character's height."""
    half = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}
    lines = ["   ".join(f"event {first + k} {share:4.0%}".ljust(13) for k, share in enumerate(shares))]
    images = psi.T.reshape(-1, 8, 8)
    for row in range(0, 8, 2):
        strips = []
        for image in images:
            cells = [half[bool(image[row, c]), bool(image[row + 1, c])] for c in range(8)]
            strips.append(("|" + "".join(cells) + "|").ljust(13))
        lines.append("   ".join(strips))
    return lines
