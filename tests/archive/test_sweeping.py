"""What uploads left is removed every hour, whatever jobs have put beside it or in its place."""

import asyncio
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from spotrain.archive import code, main, removal
from spotrain.archive.code import STALE_SECONDS
from spotrain.archive.settings import Settings

IN_PLACE: dict[str, Callable[[Path], None]] = {
    "a link": lambda place: place.symlink_to("/"),
    "a link to itself": lambda place: place.symlink_to(place.name),
    "a file": lambda place: place.touch(),
    "a pipe": lambda place: os.mkfifo(place),
}


@pytest.mark.parametrize("kind", IN_PLACE)
async def test_whatever_is_in_place_of_the_code_folder_the_archive_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    IN_PLACE[kind](tmp_path / "code")
    loop, rounds, third = asyncio.get_running_loop(), [0], asyncio.Event()

    def counted(output: Path, now: float) -> None:
        rounds[0] += 1
        if rounds[0] == 3:
            loop.call_soon_threadsafe(third.set)
        sweep(output, now)

    sweep = code.sweep
    monkeypatch.setattr(code, "sweep", counted)
    monkeypatch.setattr(main, "SWEEP_SECONDS", 0.0)
    sweeping = asyncio.create_task(main._sweep(Settings(namespace="team", output=tmp_path)))
    waiting = asyncio.create_task(third.wait())
    try:
        await asyncio.wait({sweeping, waiting}, return_when=asyncio.FIRST_COMPLETED)
        assert not sweeping.done(), f"it ended: {sweeping.exception()}"
    finally:
        for task in (sweeping, waiting):
            task.cancel()
        await asyncio.gather(sweeping, waiting, return_exceptions=True)


def test_a_name_that_goes_meanwhile_leaves_the_others_to_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another archive's process, which has not ended yet, sweeps too."""
    place = tmp_path / "code"
    left = [place / f".begun-{number}" for number in range(4)]
    for folder in left:
        folder.mkdir(parents=True)
    remove = code._remove

    def beside_another(output: Path, name: str) -> None:
        monkeypatch.setattr(code, "_remove", remove)
        remove(output, name)
        for folder in [folder for folder in left if folder.exists()][:-1]:
            folder.rmdir()

    monkeypatch.setattr(code, "_remove", beside_another)
    code.sweep(tmp_path, left[0].stat().st_mtime + STALE_SECONDS + 1)
    assert list(place.iterdir()) == []


def begun(output: Path, *, files: int) -> Path:
    left = output / "code" / ".begun-1"
    left.mkdir(parents=True)
    for number in range(files):
        (left / f"{number}").touch()
    return left


def test_however_much_a_job_puts_there_it_is_never_held_in_memory(tmp_path: Path) -> None:
    """The list of a few million would have the archive killed, each time that it starts."""
    left = begun(tmp_path, files=10_000)
    tracemalloc.start()
    try:
        code.sweep(tmp_path, left.stat().st_mtime + STALE_SECONDS + 1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert not left.exists()
    assert peak < 250_000


def test_what_is_too_much_for_one_hour_is_removed_in_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(removal, "MOST_ENTRIES", 6)
    left = begun(tmp_path, files=10)
    later = left.stat().st_mtime + 2 * STALE_SECONDS
    code.sweep(tmp_path, later)
    assert len(list(left.iterdir())) == 4
    assert "code/.begun-1 could not be removed" in caplog.text
    os.utime(left, (0, 0))
    code.sweep(tmp_path, later)
    assert not left.exists()


def test_what_is_too_deep_stays_and_the_rest_goes(tmp_path: Path) -> None:
    left = begun(tmp_path, files=3)
    os.makedirs(left / "/".join("d" * 400))
    code.sweep(tmp_path, left.stat().st_mtime + STALE_SECONDS + 1)
    assert [path.name for path in left.iterdir()] == ["d"]
