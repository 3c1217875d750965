"""Compiled functions on arrays. No classes, no files, no validation: callers hand over what is documented."""
