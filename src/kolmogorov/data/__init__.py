"""Data in: observed entries, the ids of users and items, readers, datasets.

`sources` turns files and frames into Arrow batches. `columns` tells which column is what,
`values` what its cells mean; `options`, `cells`, `doubts` and `read` make entries of them. `view` holds entries in one
order, `vocabulary` ids, `scale` the map from ratings to probabilities; `observations` is all of it together, `packed`
the same in mapped files, `changes` before and after.
"""

from kolmogorov.data.observations import Observations
from kolmogorov.data.ratings import pack, read_ratings
from kolmogorov.data.scale import Scale
from kolmogorov.data.vocabulary import Vocabulary

__all__ = ["Observations", "Scale", "Vocabulary", "pack", "read_ratings"]
