"""Attributes of users and items beside draws: what they say in each, and who or what they place."""
