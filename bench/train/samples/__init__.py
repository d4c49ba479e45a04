"""Whether every sample counts once: random world sizes and kills, played without processes."""
