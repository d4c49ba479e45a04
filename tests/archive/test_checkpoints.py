"""The checkpoints of an output folder, looked after by who has no PyTorch."""

import hashlib
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spotrain.archive import job_store
from spotrain.archive.checkpoints import (
    list_checkpoints,
    prune_checkpoints,
    relative_place,
    verify_checkpoints,
)
from spotrain.archive.client import Client
from spotrain.archive.errors import NotFound, Refused, Unavailable
from spotrain.archive.job_store import MANIFEST_BYTES, JobStore
from spotrain.archive.records import CheckpointRecord
from spotrain.checkpoints.retention import Retention
from tests.archive.served import asking, serving


@pytest.fixture
def output(tmp_path: Path) -> Path:
    made = tmp_path / "output"
    made.mkdir()
    return made


@pytest.fixture
def client(output: Path, tmp_path: Path) -> Iterator[Client]:
    with serving(tmp_path / "archive", output) as url, asking(url) as made:
        yield made


def publish(folder: Path, step: int, data: bytes = b"weights") -> Path:
    """A checkpoint as a job leaves it; its data file."""
    name = f"w000001-s{step:08d}"
    file = folder / f"{name}.abcd" / "data-00000.bin"
    file.parent.mkdir(parents=True)
    file.write_bytes(data)
    told = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    manifest = {
        "id": name,
        "epoch": 2,
        "cursor": 0,
        "parent": None,
        "files": {f"{name}.abcd/data-00000.bin": told},
        "created": f"2026-08-01T12:{step:02d}:00.000+00:00",
        "extra": {},
    }
    (folder / f"{name}.json").write_text(json.dumps(manifest))
    return file


def test_the_catalogue_has_each_one_newest_first(client: Client, output: Path) -> None:
    for step in (10, 20):
        publish(output / "team" / "run1", step)
    (output / "team" / "run1" / "w000001-s00000030.json").write_text("{")
    newest, *rest = client.checkpoints("/mnt/efs/output/team/run1")
    assert "cannot be read" in newest.problem
    assert "/proc" not in newest.problem
    assert [(c.step, c.epoch, c.size_bytes, c.intact) for c in rest] == [
        (20, 2, 7, None),
        (10, 2, 7, None),
    ]


def test_verify_reads_every_byte(client: Client, output: Path) -> None:
    publish(output / "run", 10)
    publish(output / "run", 20).write_bytes(b"weightz")
    damaged, whole = client.verify_checkpoints("run")
    assert (damaged.intact, whole.intact) == (False, True)
    assert "SHA-256 differs" in damaged.problem


def test_prune_leaves_the_newest_and_a_way_back(client: Client, output: Path) -> None:
    for step in (10, 20, 30):
        file = publish(output / "run", step)
    file.write_bytes(b"weightz")
    assert client.prune_checkpoints("run", keep=1) == ["w000001-s00000010"]
    assert [one.step for one in client.checkpoints("run")] == [30, 20]
    with pytest.raises(Refused, match="at least 1"):
        client.prune_checkpoints("run", keep=0)


@pytest.mark.parametrize("place", ["../archive", "run/../../archive", "/mnt/archive", "/etc", ""])
def test_no_other_folder_is_looked_at(client: Client, place: str) -> None:
    with pytest.raises(Refused):
        client.checkpoints(place)


def test_a_link_out_of_the_output_is_not_followed(
    client: Client, output: Path, tmp_path: Path
) -> None:
    publish(tmp_path / "secret", 10)
    (output / "run").symlink_to(tmp_path / "secret")
    with pytest.raises(Refused, match="a link"):
        client.checkpoints("run")
    with pytest.raises(NotFound, match="no folder"):
        client.checkpoints("nothing")


def test_a_pipe_in_place_of_data_keeps_nobody(output: Path) -> None:
    data = publish(output / "run", 10, b"")
    data.unlink()
    os.mkfifo(data)
    (found,) = _beside_a_writer(data, output)
    assert (found.intact, "no plain file" in found.problem) == (False, True)


def _beside_a_writer(pipe: Path, output: Path) -> list[CheckpointRecord]:
    """Who opens the pipe does not wait then: this test fails rather than hangs."""
    writer = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    try:
        return list(verify_checkpoints(output, "run"))
    finally:
        os.close(writer)


def test_links_in_place_of_data_are_damage_and_of_manifests_nothing(
    output: Path, tmp_path: Path
) -> None:
    file, folder = publish(output / "run", 10), publish(output / "run", 20).parent
    file.unlink()
    file.symlink_to(publish(tmp_path / "secret", 10))
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved")
    publish(tmp_path / "secret", 30)
    name = "w000001-s00000030.json"
    (output / "run" / name).symlink_to(tmp_path / "secret" / name)
    found = list(verify_checkpoints(output, "run"))
    assert [(one.step, one.intact) for one in found] == [(20, False), (10, False)]
    assert all("cannot be read" in one.problem for one in found)
    prune_checkpoints(output, "run", Retention(keep=1))
    assert list((tmp_path / "moved").iterdir()) != []


def test_a_link_in_place_of_history_leads_no_manifest_elsewhere(
    output: Path, tmp_path: Path
) -> None:
    for step in (10, 20):
        publish(output / "run", step)
    held = tmp_path / "elsewhere" / "w000001-s00000010.json"
    held.parent.mkdir()
    held.write_text("somebody else's")
    (output / "run" / "history").symlink_to(held.parent)
    assert prune_checkpoints(output, "run", Retention(keep=1)) == []
    assert held.read_text() == "somebody else's"
    assert [one.step for one in list_checkpoints(output, "run")] == [20, 10]
    (output / "run" / "history").unlink()
    assert prune_checkpoints(output, "run", Retention(keep=1)) == ["w000001-s00000010"]
    assert (output / "run" / "history" / held.name).is_file()


def test_the_archive_writes_no_checkpoint(output: Path) -> None:
    data = publish(output / "run", 10)
    store = JobStore(output / "run", "output/run")
    with pytest.raises(OSError, match="output/run/new"):
        store.write("new")
    with pytest.raises(OSError, match="writes no checkpoints"):
        store.publish(f"{data.parent.name}/{data.name}", "w000001-s00000020.json")
    assert len(list_checkpoints(output, "run")) == 1


def test_data_without_end_keeps_its_reader_for_an_hour_at_most(
    output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is pruned then: who knows which one is intact."""
    for step in (10, 20):
        publish(output / "run", step)
    store = JobStore(output / "run", "output/run")
    monkeypatch.setattr(job_store, "READ_SECONDS", -1.0)
    store.give_time()
    endless = output / "run" / "w000001-s00000020.abcd" / "data-00000.bin"
    os.truncate(endless, 1 << 40)
    chunks = store.chunks(f"{endless.parent.name}/{endless.name}")
    next(chunks)
    with pytest.raises(Unavailable, match="given up"):
        next(chunks)
    with pytest.raises(Unavailable, match="given up"):
        list(verify_checkpoints(output, "run"))
    with pytest.raises(Unavailable, match="given up"):
        prune_checkpoints(output, "run", Retention(keep=1))
    assert len(list((output / "run").glob("*.json"))) == 2


def test_a_manifest_without_end_is_not_read(output: Path) -> None:
    """Sparse: it takes no room on the volume, and all of it in memory."""
    whole = publish(output / "run", 10)
    manifest = output / "run" / "w000001-s00000020.json"
    manifest.write_text((output / "run" / "w000001-s00000010.json").read_text())
    os.truncate(manifest, MANIFEST_BYTES + 1)
    endless, found = list_checkpoints(output, "run")
    assert f"{MANIFEST_BYTES + 1} bytes" in endless.problem
    assert (found.step, found.size_bytes) == (10, whole.stat().st_size)


def swell(output: Path, step: int, extra: str) -> None:
    manifest = output / "run" / f"w000001-s{step:08d}.json"
    manifest.write_text(manifest.read_text().replace('"extra": {}', f'"extra": {{"x": {extra}}}'))


def peak_bytes(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "work",
    [
        lambda output: list_checkpoints(output, "run"),
        lambda output: list(verify_checkpoints(output, "run")),
        lambda output: prune_checkpoints(output, "run", Retention(keep=9)),
    ],
    ids=["list", "verify", "prune"],
)
def test_many_manifests_take_no_more_memory_than_one(
    output: Path, work: Callable[[Path], object]
) -> None:
    """A list of empty lists is what JSON makes the most of."""
    peaks = []
    for steps in (range(1, 2), range(2, 9)):
        for step in steps:
            publish(output / "run", step)
            swell(output, step, f"[{'[],' * (1 << 16)}[]]")
        peaks.append(peak_bytes(lambda: work(output)))
    assert peaks[1] < 1.5 * peaks[0]


def test_manifests_that_are_too_large_together_are_left_unread_but_for_the_newest(
    output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And pruning ends with all of them, as it makes room."""
    for step in (10, 20, 30, 40):
        publish(output / "run", step)
        swell(output, step, json.dumps("x" * 1000))
    monkeypatch.setattr(job_store, "MANIFESTS_BYTES", 3000)
    newest, second, *rest = list_checkpoints(output, "run")
    assert (newest.problem, second.problem) == ("", "")
    assert all("the newer ones have more than 3000 bytes together" in one.problem for one in rest)
    pruned = [prune_checkpoints(output, "run", Retention(keep=1)) for _ in range(3)]
    assert pruned == [[f"w000001-s000000{step}"] for step in (30, 20, 10)]
    assert [one.step for one in list_checkpoints(output, "run")] == [40]


def test_a_folder_of_more_than_can_be_looked_through_is_refused(
    client: Client, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_store, "MOST_ENTRIES", 10)
    publish(output / "run", 10)
    for number in range(10):
        (output / "run" / f"{number}.txt").touch()
    with pytest.raises(Refused, match="output/run has more than 10 files"):
        client.checkpoints("run")


def told(output: Path, text: str, **changed: object) -> str:
    """A manifest as a job writes it, but for `changed`, in which `text` stands for "HERE"."""
    publish(output / "run", 20)
    manifest = output / "run" / "w000001-s00000020.json"
    document = json.loads(manifest.read_text()) | changed
    return json.dumps(document).replace('"HERE"', text)


ODD: dict[str, tuple[dict[str, object], str]] = {
    "lists within lists": ({}, ""),
    "a time that is none": ({"created": "HERE"}, '"x"'),
    "a time without an offset": ({"created": "HERE"}, '"2026-08-01T12:00:00"'),
    "a time before all times": ({"created": "HERE"}, '"0001-01-01T00:00:00+23:00"'),
    "an epoch without end": ({"epoch": "HERE"}, "1e999"),
    "an epoch of 4,300 digits": ({"epoch": "HERE"}, "9" * 4300),
    "a size below zero": (
        {"files": {"w000001-s00000020.abcd/a": {"size": "HERE", "sha256": ""}}},
        "-1",
    ),
    "an id of a megabyte": ({"id": "HERE"}, json.dumps("x" * (1 << 20))),
}


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_manifest_hides_no_other(client: Client, output: Path, kind: str) -> None:
    changed, text = ODD[kind]
    publish(output / "run", 10)
    content = told(output, text, **changed) if changed else "[" * 200_000
    (output / "run" / "w000001-s00000020.json").write_text(content)
    odd, sound = client.checkpoints("run")
    assert "cannot be read" in odd.problem
    assert len(odd.problem) < 1000
    assert (sound.step, sound.problem) == (10, "")
    assert [one.intact for one in client.verify_checkpoints("run")] == [False, True]
    by_age = Retention(keep=1, keep_hours=1)
    assert prune_checkpoints(output, "run", by_age) == [], "the one way back"


@pytest.mark.parametrize("place", ["/mnt/efs/output/a/b", "a/b", "a/b/"])
def test_a_place_is_named_as_the_job_does_or_from_output_on(place: str) -> None:
    assert relative_place(place) == "a/b"


def test_none_of_it_needs_pytorch() -> None:
    program = "import sys, spotrain.archive.main; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
