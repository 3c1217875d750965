"""Solvers over the box [0,1]^D."""
