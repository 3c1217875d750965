"""Moods of users: what times tell of answers."""
