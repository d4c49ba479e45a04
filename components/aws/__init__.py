"""Everything that only AWS needs."""
