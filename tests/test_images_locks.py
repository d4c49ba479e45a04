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
    "training-image/requirements.lock": [*PROJECT["project"]["dependencies"], *EXTRAS["s3"]],
    "controller-image/requirements.lock": [
        *PROJECT["project"]["dependencies"],
        *EXTRAS["controller"],
        *EXTRAS["aws"],
    ],
}
"""Lock -> what it was made for; `make lock` writes them all."""
STALE = "run `make lock`"


def entries(lock: str) -> dict[str, str]:
    """Name -> requirement with its hashes, as it stands in a lock."""
    text = (ROOT / lock).read_text().strip()
    return {entry.split("==")[0]: entry for entry in re.split(r"\n(?=\S)", text)}


def closure(wanted: list[str]) -> set[str]:
    """Every package that these need on this machine."""
    found: set[str] = set()
    waiting = [Requirement(text) for text in wanted]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        key = f"{name}[{','.join(sorted(requirement.extras))}]"
        if key in found:
            continue
        found.add(key)
        for text in metadata.requires(name) or ():
            needed = Requirement(text)
            extras = requirement.extras or {""}
            if needed.marker is None or any(needed.marker.evaluate({"extra": e}) for e in extras):
                waiting.append(needed)
    return {key.split("[")[0] for key in found}


@pytest.mark.parametrize("lock", WANTED)
def test_every_entry_is_one_of_the_whole_lock(lock: str) -> None:
    whole = entries("requirements.lock")
    assert {n: e for n, e in entries(lock).items() if whole.get(n) != e} == {}, STALE


@pytest.mark.parametrize("lock", WANTED)
def test_it_holds_all_that_is_needed_and_nothing_else(lock: str) -> None:
    here = {
        canonicalize_name(name)
        for name, entry in entries(lock).items()
        for requirement in [Requirement(entry.split(" \\")[0])]
        if requirement.marker is None or requirement.marker.evaluate()
    }
    assert here == closure(WANTED[lock]), STALE


@pytest.mark.parametrize("lock", WANTED)
def test_every_entry_has_hashes(lock: str) -> None:
    assert [n for n, entry in entries(lock).items() if "--hash=sha256:" not in entry] == []
