"""The state of the random generators, in types that a checkpoint may hold."""

import hashlib
import random
from typing import Any

import torch


def seed_all(seed: int, *salt: int) -> None:
    """Seed Python's and torch's generators from a seed and what tells this use of it apart."""
    digest = hashlib.sha256("/".join(map(str, (seed, *salt))).encode()).digest()
    value = int.from_bytes(digest[:4], "big")
    random.seed(value)
    torch.manual_seed(value)


def get_state() -> dict[str, Any]:
    version, numbers, gauss = random.getstate()
    state: dict[str, Any] = {
        "torch": torch.get_rng_state(),
        "python": [version, list(numbers), gauss],
    }
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def set_state(state: dict[str, Any]) -> None:
    torch.set_rng_state(state["torch"].cpu())
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"].cpu())
