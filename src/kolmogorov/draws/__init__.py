"""Gibbs chains, and what they leave."""
