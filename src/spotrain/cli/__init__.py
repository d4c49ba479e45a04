"""The researcher's command line: one module a verb, on top of functions that print nothing."""
