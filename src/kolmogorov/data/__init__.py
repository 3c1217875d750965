"""Data in: observed entries, the names of users and items, readers, datasets, splits."""

from kolmogorov.data.observations import Observations
from kolmogorov.data.ratings import pack, read_ratings
from kolmogorov.data.scale import Scale
from kolmogorov.data.vocabulary import Vocabulary

__all__ = ["Observations", "Scale", "Vocabulary", "pack", "read_ratings"]
