"""What a process has printed is taken to the last byte, however slow the disk is."""

import asyncio
import logging
import os

import pytest

from spotrain.local import process_output
from spotrain.local.process_output import PipedOutput


class Taker:
    """Takes at once, and has no room for more until it is told."""

    def __init__(self, *, has_room: bool) -> None:
        self.lines: list[str] = []
        self.came = asyncio.Event()
        self.room = asyncio.Event()
        if has_room:
            self.room.set()

    async def take(self, lines: list[str]) -> None:
        self.lines += lines
        self.came.set()
        await self.room.wait()


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_output, "STRAGGLER_SECONDS", 0.3)


LINES = [f"line {number}" for number in range(5_000)]
"""Less than a pipe holds, so that it can be written while nobody reads."""


async def test_the_last_lines_are_taken_though_there_is_no_room(
    caplog: pytest.LogCaptureFixture,
) -> None:
    taker = Taker(has_room=False)
    output = PipedOutput(taker.take)
    with output.begin() as pipe:
        pipe.write(b"begun\n")
        await taker.came.wait()  # and waits for room from now on
        pipe.write("".join(f"{line}\n" for line in LINES).encode())
        pipe.write(b"ValueError: why it crashed")
    await output.finish()
    assert taker.lines == ["begun", *LINES, "ValueError: why it crashed"]
    assert caplog.records == []


async def test_somebody_who_holds_the_pipe_open_holds_nobody_up_and_is_told_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    taker = Taker(has_room=True)
    output = PipedOutput(taker.take)
    with output.begin() as pipe:
        held = os.dup(pipe.fileno())
        pipe.write(b"last words")
    with caplog.at_level(logging.WARNING):
        await output.finish()
    os.close(held)
    assert taker.lines == ["last words"]
    assert "is not kept" in caplog.text


async def test_whoever_prints_without_an_end_is_given_up() -> None:
    taker = Taker(has_room=True)
    output = PipedOutput(taker.take)
    with output.begin() as pipe:
        held = os.dup(pipe.fileno())
        pipe.write(b"last words\n")
    child = await asyncio.create_subprocess_exec("yes", stdout=held, start_new_session=True)
    os.close(held)
    await output.finish()
    assert taker.lines[0] == "last words"
    await child.wait()  # nobody reads what it prints


async def test_what_ends_by_itself_is_taken_and_nothing_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    taker = Taker(has_room=True)
    output = PipedOutput(taker.take)
    with output.begin() as pipe:
        pipe.write(b"one\ntwo")
    await output.finish()
    assert taker.lines == ["one", "two"]
    assert caplog.records == []
