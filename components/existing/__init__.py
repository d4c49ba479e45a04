"""A cluster that exists already: what the platform needs to know about it."""
