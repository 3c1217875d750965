"""Files of this package as rows of text."""

from __future__ import annotations

import csv
import lzma
from importlib.resources import files

#: Who made a table, and under which licence it is given on; the page of a model says it.
CREDITS = {
    "zoo": "Richard S. Forsyth, Zoo, UCI Machine Learning Repository, 1990, https://doi.org/10.24432/C5R59V. "
    "Licence: CC BY 4.0.",
    "un-votes": "Erik Voeten, Anton Strezhnev and Michael Bailey, United Nations General Assembly Voting Data, Harvard "
    "Dataverse, https://doi.org/10.7910/DVN/LEJUQZ. Licence: CC0 1.0.",
    "food": "FiveThirtyEight, The FiveThirtyEight International Food Association's 2014 World Cup, "
    "https://github.com/fivethirtyeight/data/tree/master/food-world-cup. Licence: CC BY 4.0.",
    "ml-100k": "F. Maxwell Harper and Joseph A. Konstan, The MovieLens Datasets, ACM Transactions on Interactive "
    "Intelligent Systems 5(4), 2015, https://doi.org/10.1145/2827872. It may not be passed on.",
}
CREDITS["ml-1m"] = CREDITS["ml-100k"]


def rows_of(name: str) -> list[list[str]]:
    """Return the rows of a bundled file, its header first; compressed where the name ends in .xz."""
    data = files("kolmogorov.data.datasets").joinpath("files", name).read_bytes()
    text = (lzma.decompress(data) if name.endswith(".xz") else data).decode("utf-8")
    return list(csv.reader(text.splitlines()))
