"""Pages of docs/ that are written from the code, so that they cannot disagree with it."""
