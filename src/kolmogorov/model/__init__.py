"""The estimators with events, what both can do, the choice of their parameters, and models back from files."""
