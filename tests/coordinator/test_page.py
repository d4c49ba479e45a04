"""docs/coordinator.md says what the code does: states, messages, times, limits."""

import re
from dataclasses import asdict, fields
from pathlib import Path

import pytest

from spotrain import worlds
from spotrain.coordinator import protocol
from spotrain.coordinator.client import MAX_BACKOFF_SECONDS
from spotrain.coordinator.limits import DEFAULT
from spotrain.coordinator.listener import EXPIRY_SECONDS, PING_SECONDS
from spotrain.coordinator.refusals import Cause
from spotrain.worlds.changes import DRAIN_SHARE
from spotrain.worlds.history import MAX_CHAPTERS

PAGE = (Path(__file__).parents[2] / "docs/coordinator.md").read_text()
LIMITS = worlds.Limits(min_size=1, max_size=1, desired_size=1)


def rows(heading: str) -> list[list[str]]:
    """The cells of the tables below a heading, until the next one."""
    section = PAGE.split(f"\n{heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def names(cell: str) -> list[str]:
    return re.findall(r"`(\w+)`", cell)


def test_the_states_are_those_of_the_machine() -> None:
    told = [name for row in rows("## A job's states") for name in names(row[0])]
    assert told == [phase.value for phase in worlds.Phase]
    drawn = set(re.findall(r"^    (\w+) -->|--> (\w+)", PAGE, re.MULTILINE))
    assert {name for pair in drawn for name in pair if name} == set(told)
    members = re.search(r"A member is (.*?)\. ", PAGE, re.DOTALL)
    assert members is not None
    assert names(members[1]) == [state.value for state in worlds.MemberState]


def test_the_messages_and_their_fields_are_those_of_the_protocol() -> None:
    told = {names(row[0])[0]: names(row[1]) for row in rows("## Messages") if names(row[0])}
    kinds = {**protocol.FROM_AGENT, **protocol.FROM_COORDINATOR}
    assert told == {name: [f.name for f in fields(kind)] for name, kind in kinds.items()}
    assert list(told) == list(kinds)


def test_the_versions_are_told() -> None:
    previous = min(protocol.SUPPORTED)
    assert protocol.VERSION == max(protocol.SUPPORTED) == previous + 1
    assert f"version is {protocol.VERSION}; agents of version {previous} are served" in PAGE


@pytest.mark.parametrize("row", [row for row in rows("## Times") if "`" in row[2]])
def test_a_time_is_the_default(row: list[str]) -> None:
    assert float(row[1]) == getattr(LIMITS, names(row[2])[0])


def test_liveness_and_shares_are_as_told() -> None:
    assert (PING_SECONDS, EXPIRY_SECONDS, MAX_BACKOFF_SECONDS, DRAIN_SHARE) == (1, 5, 1, 0.75)
    for words in ("every second", "for five", "up to one second", "three quarters"):
        assert words in PAGE


def test_the_limits_are_the_defaults() -> None:
    told = {names(row[0])[0]: row[1] for row in rows("## Limits") if names(row[0])}
    limits = {name: float(told.pop(name)) for name in asdict(DEFAULT)}
    assert limits == asdict(DEFAULT)
    assert list(told) == [cause for cause in Cause if cause not in limits]
    assert f"at most {protocol.MAX_MESSAGE_BYTES} bytes" in PAGE
    assert f"the newest {MAX_CHAPTERS} worlds are kept" in PAGE
