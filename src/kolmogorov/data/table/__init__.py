"""Observed entries of a table."""
