"""The page of a `ListModel`."""
