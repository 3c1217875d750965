"""Data in: observed entries, the ids of users and items, readers, datasets.

`told` has what a reader is told and what it tells, `sources` turns files and frames into Arrow batches, `columns` finds
which column is what (and titles), `values` what cells mean, `read` makes observations of them, `answers` of questions
without order. `scale` maps ratings to probabilities, `vocabulary` has ids, `view` entries in one order; `observations`
is all of it together, `packed` the same in mapped files, `changes` before and after.
"""

from kolmogorov.data.observations import Observations
from kolmogorov.data.read import pack, read_ratings
from kolmogorov.data.scale import Scale
from kolmogorov.data.vocabulary import Vocabulary

__all__ = ["Observations", "Scale", "Vocabulary", "pack", "read_ratings"]
