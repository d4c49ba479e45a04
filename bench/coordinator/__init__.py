"""How much one coordinator takes for the agents of many jobs."""
