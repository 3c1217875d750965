"""What the paper proves: its lemmas computed, and errors found."""
