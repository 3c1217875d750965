"""Random rows, and what many draws predict together."""
