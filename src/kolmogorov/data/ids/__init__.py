"""Ids of users and items."""
