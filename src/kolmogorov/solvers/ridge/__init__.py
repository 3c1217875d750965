"""Solvers without constraints."""
