"""Where numbers of priors may lie."""

#: Where any number of a prior lies that a chain can come to; others would overflow on the way.
SENSIBLE = (1e-15, 1e15)
