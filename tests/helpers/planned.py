"""Models whose chains are planned as users need not choose: how many sweeps lie between draws, and fixed priors."""

from dataclasses import replace

from kolmogorov import BayesianKolmogorovModel


def planned(*given, thin=1, concentration=None, **options):
    """Return a model that keeps every so many sweeps after burn-in, perhaps with a fixed concentration."""
    model = BayesianKolmogorovModel(*given, **options)
    usual = model._plan
    model._plan = lambda table: replace(usual(table), thin=thin, concentration=concentration)
    return model
