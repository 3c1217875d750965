"""The descent on a GPU."""
