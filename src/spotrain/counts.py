"""Numbers of things, as every message has them."""


def count(number: int, noun: str) -> str:
    """1 worker, 2 workers, 1,250 steps."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def ready_of(ready: int, wanted: int) -> str:
    """0 of 2 workers are, 1 of 1 worker is: what follows is `ready`."""
    return f"{ready:,} of {count(wanted, 'worker')} {'is' if wanted == 1 else 'are'}"
