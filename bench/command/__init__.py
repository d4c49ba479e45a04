"""How long a person waits for `spotrain`, beside kubectl."""
