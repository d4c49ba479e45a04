"""The checkpoints of an output folder, looked after by who has no PyTorch."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from spotrain.archive.checkpoints import relative_place
from spotrain.archive.client import Client
from spotrain.archive.errors import NotFound, Refused
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


@pytest.mark.parametrize("place", ["/mnt/efs/output/a/b", "a/b", "a/b/"])
def test_a_place_is_named_as_the_job_does_or_from_output_on(place: str) -> None:
    assert relative_place(place) == "a/b"


def test_none_of_it_needs_pytorch() -> None:
    program = "import sys, spotrain.archive.main; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
