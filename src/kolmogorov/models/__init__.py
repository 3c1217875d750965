"""Estimators: what users call."""
