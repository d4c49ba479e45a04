"""Whether a world, or a coordinator, that was frozen and wakes up can still do harm."""
