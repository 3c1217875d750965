"""A model as a service: the API, what guards it, the model that is swapped while it runs, and a page."""
