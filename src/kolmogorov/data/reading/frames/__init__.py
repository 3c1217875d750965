"""Data frames, arrays and Arrow streams as sources."""
