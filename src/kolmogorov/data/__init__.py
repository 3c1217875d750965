"""Data in: observed entries, the names of users and items, readers, datasets, splits."""

from kolmogorov.data.ids.vocabulary import Vocabulary
from kolmogorov.data.numbers.scale import Scale
from kolmogorov.data.ratings import pack, read_ratings
from kolmogorov.data.table.observations import Observations

__all__ = ["Observations", "Scale", "Vocabulary", "pack", "read_ratings"]
