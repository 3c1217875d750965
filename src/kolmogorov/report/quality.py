"""How good the model is: errors beside guesses, where it is weak, and what to be warned of."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data import Observations
from kolmogorov.data.observations import reaching
from kolmogorov.descent.fitted import Fitted, Trained, entry_rows
from kolmogorov.draws.convergence import convergence_of
from kolmogorov.draws.posterior import Posterior
from kolmogorov.errors import DataError, ParameterError
from kolmogorov.models.ids import at_entries
from kolmogorov.models.metrics import NO_AND_YES, POPULARITY, Scores, SimpleGuesses, decisive, popularity_scores


class Subject(Protocol):
    """A fitted model of events: one, or draws that are read by one."""

    fitted_: Any
    _is_only_yes: bool
    _has_draws: bool

    @property
    def _one_model(self) -> Fitted:
        """The model that is read."""

    def rules(self, *, likes: float | None) -> Any:
        """Return the rules between items."""

    def evaluate(self, observations: Any, *, ranking: bool, k: int, unknown: Any) -> dict[str, float]:
        """Return scores of lists on held-out observations."""


#: A test on fewer observations says little. By judgement.
FEW = 20
#: Items in a list. By judgement.
LENGTH = 10
#: Entries whose intervals are looked at: the share is then sure to a third of a percent.
_INTERVALS = 20_000
#: Chains, and sweeps of burn-in and draws of each, of which a test is made at most. By judgement.
_CHAINS, _SAMPLES = 8, 200
MODEL, BIASES = "Kolmogorov model", "user and item biases"


@dataclass(frozen=True, eq=False)
class Test:
    """Observations that a model was not trained on, and what it and simple guesses say about them."""

    protocol: str
    refitted: bool
    fitted: Trained
    fresh: Observations
    users: Rows
    items: Rows
    guesses: dict[str, Floats]
    #: Of tables in which only yes is recorded: the scores of lists instead.
    lists: dict[str, dict[str, float]] | None = None

    @property
    def predicted(self) -> Floats:
        """What the model says."""
        return self.guesses[MODEL]


def tested(model: Subject, fresh: Observations) -> Test | str:
    """Test the model on observations it was not trained on.

    Where there are too few of them, the same settings are fitted to four fifths of the training data and tested on the
    rest. A sentence where there are too few even for that, or where it fails.
    """
    refitted = len(fresh) < FEW
    protocol = f"Tested on {len(fresh):,} observations that the model was not trained on."
    only_yes = model._is_only_yes
    if refitted:
        whole = model.fitted_.training
        if len(whole) < FEW:
            return "There are too few observations for a test."
        train, fresh = whole.split(test_size=0.2, random_state=0, by="user" if only_yes else "entry")
        again: Any = clone(model).set_params(random_state=0, callback=None)
        if again._has_draws:
            # As many draws as there are, of which a file cannot promise more than it holds.
            n_chains, n_draws = model.fitted_.n_chains, model.fitted_.n_draws
            again.set_params(n_chains=min(n_chains, _CHAINS), n_samples=min(n_draws // n_chains, _SAMPLES))
            again.set_params(burn_in="auto" if again.burn_in == "auto" else min(again.burn_in, _SAMPLES))
        else:
            again.set_params(checkpoint=None)
        try:
            # Of a fit that Ctrl-C ended early the page would tell a quality that is not the model's.
            model = again.fit(train)
            if getattr(model, "interrupted_", False):
                raise KeyboardInterrupt
        except (DataError, ParameterError) as error:
            return f"The same settings could not be fitted to four fifths of the data: {error}"
        protocol = (
            f"All given data was used for training. So the same settings were fitted to four fifths of it and tested "
            f"on the remaining {len(fresh):,} observations."
        )
    fitted = model.fitted_
    fresh = fresh.rescaled(fitted.scale)
    users, items = entry_rows(fitted.training, fresh)
    guesses = {MODEL: at_entries(fitted, fresh), **SimpleGuesses.of(fitted.training).at(users, items)}
    return Test(protocol, refitted, fitted, fresh, users, items, guesses, _lists(model, fresh) if only_yes else None)


def _lists(model: Subject, fresh: Observations) -> dict[str, dict[str, float]] | None:
    """Return the scores of everybody's list and of the most popular; None where nothing was liked."""
    if not reaching(fresh.values, model.fitted_.likes).any():
        return None
    found = model.evaluate(fresh, ranking=True, k=LENGTH, unknown="ignore")
    return {MODEL: found, POPULARITY: popularity_scores(model.fitted_.training, fresh, LENGTH)}


def quality(test: Test | str) -> dict[str, Any]:
    """Score the model beside the guesses; a sentence says why that could not be done."""
    if isinstance(test, str):
        nothing: dict[str, Any] = {"scores": [], "calibration": [], "coverage": None, "verdict": None, "lists": None}
        return {"protocol": test} | nothing
    fresh = test.fresh
    scores = test.lists or {name: _errors(fresh, guess) for name, guess in test.guesses.items()}
    bins = () if test.lists else zip(*_calibration(test.predicted, fresh.values), strict=True)
    return {
        "protocol": test.protocol,
        "scores": [{"name": name, **found} for name, found in scores.items()],
        "lists": LENGTH if test.lists else None,
        "calibration": [[round(float(p), 4), round(float(v), 4), int(n)] for p, v, n in bins],
        "coverage": None if test.lists else _coverage(test),
        "verdict": verdict_of(scores),
    }


def _errors(fresh: Observations, guess: Floats) -> dict[str, float]:
    """Score a guess; its log loss is that of probabilities of which a hundredth is spread evenly."""
    if not fresh.is_binary:
        return Scores(fresh.scale.span).add(fresh.values, guess, fresh.weights).result()
    scores = Scores(fresh.scale.span, True, NO_AND_YES).add(fresh.values, guess, fresh.weights)
    found = scores.add_forecasts(fresh.values, np.column_stack((1.0 - guess, guess)), fresh.weights).result()
    del found["calibration"]
    return found | {"log_loss": -found.pop("log_score")}


def verdict_of(scores: dict[str, dict[str, float]]) -> dict[str, Any]:
    """Compare the model with the best of the guesses: by how much of its error, or of its score, it is better."""
    measure = decisive(scores[MODEL])
    others = {name: found[measure] for name, found in scores.items() if name != MODEL}
    best = max if measure == "ndcg" else min
    rival, mine = best(others, key=lambda name: others[name]), scores[MODEL][measure]
    gain = (mine / others[rival] - 1.0) * (1.0 if measure == "ndcg" else -1.0) if others[rival] else 0.0
    return {"rival": rival, "measure": measure, "gain": round(gain, 4), "model": mine, "other": others[rival]}


def _coverage(test: Test) -> float | None:
    """Return the share of ratings that the 90% intervals of draws hold; None where there are none to speak of."""
    if not isinstance(test.fitted, Posterior) or test.fitted.likelihood == "bernoulli":
        return None
    part = slice(0, _INTERVALS)
    past = (len(test.fitted.users), len(test.fitted.items))
    rows = [np.where(side < 0, end, side)[part] for side, end in zip((test.users, test.items), past, strict=True)]
    return round(test.fitted.coverage(rows[0], rows[1], test.fresh.values[part], None), 4)


#: Fewer training observations than this say little about an item or a user. By judgement.
LITTLE = 5
#: An event with a smaller share of the population hardly happens. By judgement.
_RARE = 0.005
#: What an item is in all events, to rounding.
_SAME = 1e-6


def alerts(
    model: Subject,
    fitted: Fitted,
    test: Test | str,
    whole: Observations,
    nouns: dict[str, list[str]],
) -> list[str]:
    """Return sentences, the gravest first."""
    found = []
    if not isinstance(test, str) and test.refitted:
        found.append("All given data was used for training: rules look better here than they are.")
    extent = whole.rows.extent
    if extent is not None and extent[0] == extent[1]:
        found.append('The data holds no "no": errors and counts of rules say little here.')
    if model._has_draws:
        agreement = convergence_of(model.fitted_)
        if agreement.rhat.size and not agreement.settled:
            found.append(
                "The chains found different solutions: averages are usable, events and rules may not be. A longer "
                "burn_in or fewer events bring them together."
            )
    for noun, counts in (
        (nouns["item"], fitted.item_counts),
        (nouns["user"], fitted.user_counts),
    ):
        little = int(((counts > 0) & (counts < LITTLE)).sum())
        if little:
            share = little / max(int((counts > 0).sum()), 1)
            has = "has" if little == 1 else "have"
            found.append(f"{_counted(little, noun)} ({_percent(share)}) {has} fewer than {LITTLE} observations.")
    same = int((np.ptp(fitted.psi[fitted.item_seen].astype(np.float64), axis=1) < _SAME).sum())
    if same:
        found.append(f"{_counted(same, nouns['item'])} {'is' if same == 1 else 'are'} the same in every event.")
    rare = int((fitted.population < _RARE).sum())
    if rare:
        found.append(
            f"{rare} event{'s' if rare > 1 else ''} hardly ever happen{'' if rare > 1 else 's'}: try fewer events."
        )
    if whole.is_binary and np.mean(whole.values) > 0.97:
        found.append(f'{np.mean(whole.values):.0%} of the answers are yes: guessing "yes" everywhere is hard to beat.')
    return found


def _percent(share: float) -> str:
    return "less than 1%" if 0.0 < share < 0.01 else f"{share:.0%}"


def _counted(number: int, noun: list[str]) -> str:
    return f"{number:,} {noun[0 if number == 1 else 1]}"


def _calibration(predicted: Floats, values: Floats, bins: int = 12) -> tuple[Floats, Floats, Rows]:
    """Return mean prediction, mean value and number of cases in the bins of equal width that hold any."""
    place = np.minimum((predicted * bins).astype(int), bins - 1)
    count = np.bincount(place, minlength=bins)
    some = count > 0
    x, y = (np.bincount(place, weights=column, minlength=bins)[some] / count[some] for column in (predicted, values))
    return x, y, count[some]
