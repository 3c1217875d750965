"""Data in: observed entries, the names of users and items, readers, datasets, splits."""

from kolmogorov.data.observations import Observations
from kolmogorov.data.reading.ratings import read_ratings
from kolmogorov.data.scale import Scale
from kolmogorov.data.vocabulary import Vocabulary

__all__ = ["Observations", "Scale", "Vocabulary", "read_ratings"]
