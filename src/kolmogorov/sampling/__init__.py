"""How models are drawn: chains, their priors, the sampler around them, and the posterior that they leave."""
