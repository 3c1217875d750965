"""Chains of a table that has changed: those of draws go on, others start from one model."""
