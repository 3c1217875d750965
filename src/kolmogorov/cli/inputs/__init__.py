"""What verbs read beside ratings: pairs to predict or to remove, and attributes of users and items."""
