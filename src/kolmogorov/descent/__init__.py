"""The paper's alternating descent: over ratings, and over a completed table."""
