"""Markov chains over Kolmogorov models: where they start, and their sweeps."""
