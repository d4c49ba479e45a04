"""The demonstration: a real job on this machine, interrupted on purpose, and judged."""
