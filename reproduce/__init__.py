"""The tables and figures of the paper, computed again: `python -m reproduce table_4 --quick`."""
