"""Solvers over {0,1}^D."""
