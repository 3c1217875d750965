"""The descent, the chains and lists on one GPU."""
