"""Posterior sampling: chains, what they learn about their priors, and what is kept of them."""
