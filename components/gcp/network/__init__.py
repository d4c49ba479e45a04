"""Where things are, and who reaches whom."""
