"""Logical relations between items: of one model, and of draws."""
