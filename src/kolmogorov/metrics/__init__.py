"""How far predictions are from what was observed."""

from kolmogorov.metrics.baselines import SimpleGuesses, simple_guesses
from kolmogorov.metrics.convergence import effective_size, split_rhat
from kolmogorov.metrics.distribution import DistributionScores
from kolmogorov.metrics.evaluation import Scores, evaluate
from kolmogorov.metrics.ranking import RankingScores

__all__ = [
    "DistributionScores",
    "RankingScores",
    "Scores",
    "SimpleGuesses",
    "effective_size",
    "evaluate",
    "simple_guesses",
    "split_rhat",
]
