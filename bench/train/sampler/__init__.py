"""The host's time for each index of a sampler, beside torch's own."""
