"""`python -m spotrain.controller`: controller and coordinator, as the Deployment runs them."""

from spotrain.controller.main import main

if __name__ == "__main__":
    raise SystemExit(main())
