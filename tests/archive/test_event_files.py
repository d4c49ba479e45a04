"""TensorBoard's files through the archive: all of them, from any position, and nothing else."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spotrain.archive import event_files
from spotrain.archive.client import Client
from spotrain.archive.errors import NotFound, Refused
from spotrain.archive.event_files import list_event_files, read_event_bytes
from tests.archive.served import asking, serving

NAME = "events.out.tfevents.1700000000.worker-0"


@pytest.fixture
def output(tmp_path: Path) -> Path:
    made = tmp_path / "output"
    made.mkdir()
    return made


@pytest.fixture
def client(output: Path, tmp_path: Path) -> Iterator[Client]:
    with serving(tmp_path / "archive", output) as url, asking(url) as made:
        yield made


def write(output: Path, path: str, data: bytes = b"events") -> Path:
    file = output / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def test_event_files_are_found_at_any_depth_and_read_from_any_position(
    client: Client, output: Path
) -> None:
    write(output, f"run/{NAME}", b"0123456789")
    write(output, f"run/train/fold 1/{NAME}.1")
    write(output, "run/checkpoints/w000001-s00000001.json")
    found = client.event_files("/mnt/efs/output/run")
    assert [(file.path, file.size) for file in found] == [
        (NAME, 10),
        (f"train/fold 1/{NAME}.1", 6),
    ]
    assert client.event_bytes("run", NAME, 0) == b"0123456789"
    assert client.event_bytes("run", NAME, 7) == b"789"
    assert client.event_bytes("run", NAME, 10) == b""
    assert client.event_bytes("run", f"train/fold 1/{NAME}.1", 0) == b"events"
    with pytest.raises(NotFound, match="no folder"):
        client.event_files("never")
    with pytest.raises(NotFound, match="no event file"):
        client.event_bytes("run", f"{NAME}.2", 0)


@pytest.mark.parametrize(
    ("place", "path"),
    [
        pytest.param("run", "secret", id="another-file"),
        pytest.param("run", f"../../archive/{NAME}", id="above"),
        pytest.param("../archive", NAME, id="place-above"),
        pytest.param("run", f"/etc/{NAME}", id="absolute"),
        pytest.param("run", "linked.tfevents", id="link"),
        pytest.param("run", f"folder-link/{NAME}", id="link-to-a-folder"),
        pytest.param("run", "pipe.tfevents", id="pipe"),
        pytest.param("run", "folder.tfevents", id="folder"),
        pytest.param("run", "", id="nothing"),
    ],
)
def test_nothing_else_is_read_or_listed(
    client: Client, output: Path, tmp_path: Path, place: str, path: str
) -> None:
    write(output, "run/secret", b"secret")
    outside = write(tmp_path, f"archive/{NAME}", b"secret")
    (output / "run" / "linked.tfevents").symlink_to(outside)
    (output / "run" / "folder-link").symlink_to(outside.parent)
    (output / "run" / "folder.tfevents").mkdir()
    os.mkfifo(output / "run" / "pipe.tfevents")
    assert client.event_files("run") == []
    with pytest.raises((Refused, NotFound)):
        client.event_bytes(place, path, 0)


def test_more_files_than_anybody_draws_are_refused(
    output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_files, "MOST_FILES", 3)
    for number in range(4):
        write(output, f"run/{NAME}.{number}")
    with pytest.raises(Refused, match="more than 3 event files"):
        list_event_files(output, "run")


def test_a_data_set_below_an_output_is_not_walked_to_its_end(
    output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_files, "MOST_ENTRIES", 10)
    write(output, f"run/{NAME}")
    for number in range(8):
        write(output, f"run/data/{number}.png")
    assert [file.path for file in list_event_files(output, "run")] == [NAME]
    write(output, "run/data/8.png")
    with pytest.raises(Refused, match="more than 10 files and folders"):
        list_event_files(output, "run")


def test_no_more_of_a_folder_is_read_than_is_looked_at(
    output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A million names in one folder are not held in memory first."""
    monkeypatch.setattr(event_files, "MOST_ENTRIES", 5)
    for number in range(50):
        write(output, f"run/{number}.png")
    looked_at = 0
    scandir = os.scandir

    @contextmanager
    def counted(folder: Path) -> Iterator[Iterator[os.DirEntry[str]]]:
        with scandir(folder) as entries:
            yield map(count, entries)

    def count(entry: os.DirEntry[str]) -> os.DirEntry[str]:
        nonlocal looked_at
        looked_at += 1
        return entry

    monkeypatch.setattr(os, "scandir", counted)
    with pytest.raises(Refused, match="more than 5"):
        list_event_files(output, "run")
    assert looked_at == 6


@given(data=st.binary(max_size=20), piece=st.integers(1, 7))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pieces_put_together_are_the_file(
    output: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, piece: int
) -> None:
    monkeypatch.setattr(event_files, "PIECE_BYTES", piece)
    write(output, f"run/{NAME}", data)
    read = b""
    while found := read_event_bytes(output, "run", NAME, len(read)):
        read += found
    assert read == data
