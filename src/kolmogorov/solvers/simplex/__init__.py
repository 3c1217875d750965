"""Solvers over the probability simplex."""
