"""Rules between items, counted on data."""
