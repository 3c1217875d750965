"""Random rows, and what many draws predict on average."""
