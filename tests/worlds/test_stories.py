"""The promises of the state machine hold in random stories, and a machine that breaks one shows."""

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from spotrain import worlds
from tests.worlds.stories import Stories

SOURCE = Path(worlds.__file__).parent

Stories.TestCase.settings = settings(max_examples=200, stateful_step_count=50, deadline=None)
TestStories = Stories.TestCase


@dataclass(frozen=True)
class Mutation:
    what: str
    file: str
    old: str
    """Occurs once in the file."""
    new: str
    story: Callable[[Stories], object] | None = None
    """Shows it, where a thousand random ones might not."""


def commits_at_a_return(job: Stories) -> None:
    job.begin(least=1, more=1, allowed=(), number=0, restarts=0)
    job.connect()
    job.connect()
    job.settle()
    del job.living["p2"]
    job.restart_coordinator()
    job.commit(job.living["p1"], 7)


def waits_on_notice_as_another_comes(job: Stories) -> None:
    job.begin(least=2, more=0, allowed=(), number=0, restarts=0)
    job.connect()
    job.go_on(job.living["p1"])
    job.notice(job.living["p1"], 60)
    job.connect()
    job.go_on(job.living["p2"])
    while job.unrecorded:
        job.record()
    job.settle()


def hangs_while_its_successor_comes_and_goes(job: Stories) -> None:
    job.begin(least=1, more=0, allowed=(), number=0, restarts=1000)
    job.connect()
    job.settle()
    job.hang(job.living["p1"])
    job.stall()
    job.connect()
    job.settle()
    assert [world.ids for world in job.published] == [("p1",), ("p2",)]
    del job.living["p2"]
    job.restart_coordinator()


def is_the_only_one_of_three_at_a_return(job: Stories) -> None:
    job.begin(least=1, more=2, allowed=(), number=0, restarts=0)
    for _ in range(3):
        job.connect()
    job.settle()
    assert job.published[-1].size == 3
    del job.living["p2"], job.living["p3"]
    job.restart_coordinator()
    job.settle()


def breaks_while_somebody_is_on_notice(job: Stories) -> None:
    job.begin(least=1, more=0, allowed=(), number=0, restarts=2)
    job.connect()
    job.connect()
    job.settle()
    assert job.published[-1].ids == ("p1",)
    job.stall()
    job.notice(job.living["p1"], 1)
    while job.unrecorded:
        job.record()
    job.settle()
    assert job.published[-1].ids == ("p2",)


def is_on_notice_and_too_slow(job: Stories) -> None:
    job.begin(least=1, more=1, allowed=(), number=0, restarts=0)
    job.connect()
    job.connect()
    job.settle()
    job.notice(job.living["p1"], 60)
    job.go_on(job.living["p2"])
    job.pass_time(46)
    while job.unrecorded:
        job.record()
    job.settle()
    assert job.published[-1].ids == ("p2",)


MUTATIONS = (
    Mutation("numbers are used again", "forming", "state.number + 1", "max(1, state.number)"),
    Mutation(
        "a world is published before its number is durable",
        "forming",
        "    return forming, [Record(number=number)]",
        "    from .events import Publish\n    return forming, [Publish(world=pending)]",
    ),
    Mutation("any size will do", "questions", "limits.allowed_sizes or range", "range"),
    Mutation("the minimum does not hold", "questions", "if limits.min_size <= size", "if size"),
    Mutation(
        "every commit is accepted",
        "changes",
        "accepted = trains(state) and is_active(",
        "accepted = True or is_active(",
    ),
    Mutation(
        "a coordinator that has just come back refuses commits",
        "changes",
        "    accepted = None\n",
        "    accepted = False\n",
        story=commits_at_a_return,
    ),
    Mutation(
        "a world forms before the last is left", "forming", "if is_being_left(state):", "if 0:"
    ),
    Mutation(
        "a notice breaks the world",
        "forming",
        "return _drain(state, Reason.NOTICE, now)",
        'return break_world(state, Reason.LOSS, "")',
    ),
    Mutation(
        "newcomers are not gathered",
        "forming",
        "if now < since + state.limits.growth_delay_seconds:",
        "if False:",
    ),
    Mutation(
        "who is on notice is not waited for in a broken world",
        "questions",
        "m.state is MemberState.ACTIVE or (",
        "(m.state is MemberState.ACTIVE and m.leaving_by is None) or (",
        story=breaks_while_somebody_is_on_notice,
    ),
    Mutation(
        "who is on notice is not waited for after a drain that failed",
        "questions",
        "m.state is MemberState.ACTIVE or (",
        "(m.state is MemberState.ACTIVE and m.leaving_by is None) or (",
        story=is_on_notice_and_too_slow,
    ),
    Mutation("a drain has no deadline", "forming", "if now < state.drain_deadline:", "if True:"),
    Mutation("who hangs is never given up", "forming", "if now < left_by:", "if True:"),
    Mutation(
        "who is gone is remembered",
        "changes",
        "for id, member in state.members.items() if id != event.id}",
        "for id, member in state.members.items()}",
    ),
    Mutation(
        "the survivors of a loss are not told",
        "changes",
        "    if trains(state):\n        # To all",
        "    if False:\n        # To all",
    ),
    Mutation(
        "who starts is waited for without end",
        "forming",
        "if is_worth_waiting(state, candidates) and now < since + state.limits.gather_seconds:",
        "if is_worth_waiting(state, candidates):",
    ),
    Mutation(
        "who is on notice enters the next world",
        "state",
        "return self.state is MemberState.READY and self.leaving_by is None",
        "return self.state is MemberState.READY",
        story=waits_on_notice_as_another_comes,
    ),
    Mutation(
        "who is on notice is released before all have stopped",
        "forming",
        "    if not any(member.state is MemberState.ACTIVE for member in state.seated()):",
        "    if any(member.state is MemberState.DRAINED for member in state.seated()):",
    ),
    Mutation(
        "a world of long ago is adopted",
        "forming",
        "highest.number >= state.number",
        "True",
        story=hangs_while_its_successor_comes_and_goes,
    ),
    Mutation("nothing is waited for after a return", "forming", "    if not is_over:", "    if 0:"),
    Mutation(
        "a minority is adopted",
        "forming",
        "2 * len(back) > highest.size",
        "len(back) > 0",
        story=is_the_only_one_of_three_at_a_return,
    ),
    Mutation(
        "no world is adopted: who is missing is waited for without end",
        "forming",
        "is_over = now >= state.recover_until",
        "is_over = False",
    ),
    Mutation("spares are not taken in", "forming", "[:size])", "[:state.limits.min_size])"),
    Mutation(
        "one finished member is a success",
        "questions",
        "state.finished.issuperset(state.world.ids)",
        "bool(state.finished)",
    ),
    Mutation(
        "finished members are not asked to join the next world",
        "changes",
        "for member in ended.seated())",
        "for member in ended.seated() if member.state is not MemberState.FINISHED)",
    ),
    Mutation(
        "a job closes twice",
        "machine",
        "while state.phase not in (phase, Phase.CLOSED)",
        "while state.phase is not phase",
    ),
)


@contextmanager
def mutated(mutation: Mutation, folder: Path) -> Iterator[ModuleType]:
    """The package with one change, under a name of its own."""
    name = f"mutant_{abs(hash(mutation))}"
    (folder / name).mkdir()
    for source in SOURCE.glob("*.py"):
        text = source.read_text()
        if source.stem == mutation.file:
            assert text.count(mutation.old) == 1, f"{mutation.what}: the source has changed"
            text = text.replace(mutation.old, mutation.new)
        (folder / name / source.name).write_text(text.replace("spotrain.worlds", name))
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))
        for module in [module for module in sys.modules if module.split(".")[0] == name]:
            del sys.modules[module]


def search(broken: type[Stories]) -> None:
    tried = settings(
        max_examples=5000,
        stateful_step_count=50,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(broken, settings=tried)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.what)
def test_a_machine_that_breaks_a_promise_is_found_out(mutation: Mutation, tmp_path: Path) -> None:
    with mutated(mutation, tmp_path) as machine:
        broken = type("Broken", (Stories,), {"worlds": machine})
        with pytest.raises((AssertionError, KeyError)):
            search(broken) if mutation.story is None else mutation.story(broken())


@pytest.mark.parametrize("story", [mutation.story for mutation in MUTATIONS if mutation.story])
def test_the_promises_hold_in_the_rarest_stories(story: Callable[[Stories], object]) -> None:
    story(Stories())
