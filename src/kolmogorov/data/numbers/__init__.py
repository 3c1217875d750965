"""Numbers: how ratings and weights are written, which are accepted, and the scale between ratings and probabilities."""
