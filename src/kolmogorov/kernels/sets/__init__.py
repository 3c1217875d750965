"""Supports of items as sets: which lies in which, and how often that holds."""
