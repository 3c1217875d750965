"""Models whose chains are planned as users need not choose: how many sweeps lie between draws."""

from dataclasses import replace

from kolmogorov import BayesianKolmogorovModel
from kolmogorov._support.threads import Threads
from kolmogorov.draws.chain import Chain
from kolmogorov.draws.plan import Plan
from kolmogorov.draws.priors import Features


def planned(*given, thin=1, **options):
    """Return a model that keeps every so many sweeps after burn-in."""
    model = BayesianKolmogorovModel(*given, **options)
    usual = model._plan
    model._plan = lambda table: replace(usual(table), thin=thin)
    return model


def chain_of(table, *, seed=0, dealer=None, features=None, likelihood="gaussian", **options):
    """Return a chain of a table, of which nothing is known beside it where nothing is given."""
    sizes = {"n_chains": 1, "burn_in": 1, "n_samples": 1, "thin": 1, "n_features": 0}
    features = features or Features.none(table.n_users, table.n_items)
    return Chain(Plan(**sizes, likelihood=likelihood, **options), table, features, seed, dealer or Threads(1))
