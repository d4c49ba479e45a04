"""What the images install is a part of the one lock: no more, no less, no other version."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
WANTED: dict[str, list[str]] = {
    "build.lock": PROJECT["build-system"]["requires"],
    "training-image/requirements.lock": [
        *PROJECT["project"]["dependencies"],
        *EXTRAS["s3"],
        *EXTRAS["gs"],
    ],
    **{
        f"training-image/{extra}.lock": [*PROJECT["project"]["dependencies"], *EXTRAS[extra]]
        for extra in ("lightning", "tensorboard", "transformers")
    },
    "controller-image/requirements.lock": [
        *PROJECT["project"]["dependencies"],
        *EXTRAS["controller"],
        *(one for one in EXTRAS["archive"] if not one.startswith("spotrain")),
        *EXTRAS["aws"],
        *EXTRAS["gcp"],
    ],
}
"""Lock -> what it was made for; `make lock` writes them all."""
STALE = "run `make lock`"
NEVER = {"spotrain", "torch"}
"""Not from any lock: the package itself, and what the base of the training image brings along."""


def entries(lock: str) -> dict[str, str]:
    """Requirement, perhaps for some machines only -> its hashes, as they stand in a lock."""
    text = (ROOT / lock).read_text().strip()
    split = (entry.partition(" \\\n") for entry in re.split(r"\n(?=\S)", text))
    return {requirement: hashes for requirement, _, hashes in split}


def versions(lock: str) -> dict[str, str]:
    """The same for any machine: in which cases a package is needed depends on what needs it."""
    return {requirement.split(" ;")[0]: hashes for requirement, hashes in entries(lock).items()}


def closure(wanted: list[str]) -> set[str]:
    """Every package that these need on this machine."""
    found: set[str] = set()
    waiting = [Requirement(text) for text in wanted]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name == "torch":
            continue
        key = f"{name}[{','.join(sorted(requirement.extras))}]"
        if key in found:
            continue
        found.add(key)
        for text in metadata.requires(name) or ():
            needed = Requirement(text)
            extras = requirement.extras or {""}
            if needed.marker is None or any(needed.marker.evaluate({"extra": e}) for e in extras):
                waiting.append(needed)
    return {key.split("[")[0] for key in found} - NEVER


@pytest.mark.parametrize("lock", WANTED)
def test_every_entry_is_one_of_the_whole_lock(lock: str) -> None:
    whole = versions("requirements.lock")
    assert {n: e for n, e in versions(lock).items() if whole.get(n) != e} == {}, STALE


@pytest.mark.parametrize("lock", WANTED)
def test_it_holds_all_that_is_needed_and_nothing_else(lock: str) -> None:
    here = {
        canonicalize_name(requirement.name)
        for requirement in map(Requirement, entries(lock))
        if requirement.marker is None or requirement.marker.evaluate()
    }
    assert here == closure(WANTED[lock]), STALE


@pytest.mark.parametrize("lock", WANTED)
def test_every_entry_has_hashes(lock: str) -> None:
    assert [n for n, hashes in entries(lock).items() if "--hash=sha256:" not in hashes] == []
