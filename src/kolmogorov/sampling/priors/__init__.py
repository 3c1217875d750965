"""Priors that are learned from the data."""
