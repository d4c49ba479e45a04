"""The agent, process 1 of a worker: `spotrain-run` starts and watches one rank per GPU."""
