"""The descent on a cluster."""
