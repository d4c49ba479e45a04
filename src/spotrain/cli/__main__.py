"""`python -m spotrain.cli` is `spotrain`."""

from spotrain.cli.main import main

if __name__ == "__main__":
    main()
