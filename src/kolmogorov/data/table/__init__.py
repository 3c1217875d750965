"""Observations, and what is asked of a whole table: splits, levels, whether there is something to learn."""
