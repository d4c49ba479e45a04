"""What the session adds to a step: agreement, progress, exact data."""
