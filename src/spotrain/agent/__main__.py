"""`python -m spotrain.agent`: the same as `spotrain-run`."""

from spotrain.agent.main import main

main()
