"""Text files as sources."""
