"""Solvers of many-valued items: quadratics over a grid of values."""
