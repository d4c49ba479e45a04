"""`python -m spotrain.archive`: the archive, as its Deployment runs it."""

from spotrain.archive.main import main

if __name__ == "__main__":
    raise SystemExit(main())
