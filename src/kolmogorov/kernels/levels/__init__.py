"""Quadratics over a grid of values: compiled searches."""
