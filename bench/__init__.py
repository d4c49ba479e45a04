"""Benchmarks: each beside its peers in the same run, with all raw times kept in results/."""
