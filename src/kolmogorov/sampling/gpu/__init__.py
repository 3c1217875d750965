"""Chains on a GPU, all at once."""
