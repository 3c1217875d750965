"""Observed entries as arrays: as they come in, sorted, and by row."""
