"""Everything that only Google Cloud needs."""
