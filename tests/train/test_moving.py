"""A job moves from one cloud to another with the commands of docs/clouds.md, and loses no step.

Two folders stand for the volumes of two clusters, and a small program for kubectl: it runs a pod's
command in its cluster's folder.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

import spotrain.train as elastic
from spotrain.train.checkpoint import Catalogue
from tests.train.alone import NOTICED, notice, train_alone
from tests.train.buckets import Server, server_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "clouds.md"
KUBECTL = """#!/bin/sh
while [ "$1" != -- ]; do
    if [ "$1" = --context ]; then cluster=$2; fi
    shift
done
shift
cd "$VOLUMES/$cluster" && exec "$@"
"""
STEPS = 10


def copies() -> list[str]:
    """What the page tells people to type for data and output."""
    return re.findall(r"^\$ (kubectl --context .* \| kubectl .*)$", PAGE.read_text(), re.MULTILINE)


@pytest.fixture
def volumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of the clusters `aws` and `gcp`; the first one has a data set."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "kubectl").write_text(KUBECTL)
    (programs / "kubectl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("VOLUMES", str(tmp_path))
    monkeypatch.setenv("NS", "elastic-job")
    for cluster in ("aws", "gcp"):
        (tmp_path / cluster / "data").mkdir(parents=True)
        (tmp_path / cluster / "output").mkdir()
    (tmp_path / "aws" / "data" / "digits").mkdir()
    (tmp_path / "aws" / "data" / "digits" / "part-0").write_bytes(b"0123456789")
    return tmp_path


class Job:
    """Counts to ten, one sample a step; where it is, only its checkpoint knows."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def run(self, output: Path | str, *, notice_at: int | None = None) -> int:
        return train_alone(lambda run: self._train(run, notice_at), output)

    def _train(self, run: elastic.Run, notice_at: int | None) -> None:
        model = nn.Linear(1, 1, bias=False)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        samples = TensorDataset(torch.arange(1.0, STEPS + 1).reshape(-1, 1))
        loader = run.loader(samples, batch_size=1, shuffle=False)
        run.track(model=model, optimizer=optimizer)
        for _epoch in run.epochs(1):
            for (sample,) in loader:
                optimizer.zero_grad()
                model(sample).sum().backward()
                optimizer.step()
                self.seen.append(int(sample))
                if len(self.seen) == notice_at:
                    notice()
                run.step()


def move(*, times: int = 1) -> None:
    for command in copies() * times:
        subprocess.run(["bash", "-o", "pipefail", "-ec", command], check=True, timeout=60)


def test_it_goes_on_where_it_was_and_its_data_come_along(volumes: Path) -> None:
    assert len(copies()) == 2
    job = Job()
    assert job.run(volumes / "aws" / "output" / "digits", notice_at=4) == NOTICED
    move()
    shutil.rmtree(volumes / "aws")
    assert (volumes / "gcp" / "data" / "digits" / "part-0").read_bytes() == b"0123456789"
    assert job.run(volumes / "gcp" / "output" / "digits") == 0
    assert job.seen == list(range(1, STEPS + 1))


def test_a_copy_that_is_repeated_changes_nothing(volumes: Path) -> None:
    job = Job()
    job.run(volumes / "aws" / "output" / "digits", notice_at=4)
    move(times=2)
    assert job.run(volumes / "gcp" / "output" / "digits") == 0
    assert job.seen == list(range(1, STEPS + 1))


def test_a_checkpoint_that_came_over_in_part_is_passed_over(volumes: Path) -> None:
    here, there = (volumes / cluster / "output" / "digits" for cluster in ("aws", "gcp"))
    job = Job()
    job.run(here, notice_at=2)
    first = Catalogue(here / "checkpoints").newest_intact()
    job.run(here, notice_at=5)
    move()
    copied = Catalogue(there / "checkpoints")
    newest = copied.newest_intact()
    assert first
    assert newest
    assert newest.id > first.id
    for file in (there / "checkpoints").glob(f"{newest.id}.*/*.bin"):
        file.write_bytes(file.read_bytes()[:-1])
    left = copied.newest_intact()
    assert left
    assert left.id == first.id


@pytest.fixture(params=["s3", "gs"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with server_of(request.param) as made:
        yield made


def test_a_folder_and_a_bucket_hold_the_same_files(volumes: Path, server: Server) -> None:
    """Copied file by file, as the clouds' tools do; into the bucket, and back into a folder."""
    name = server.new_bucket()
    here, back = volumes / "aws" / "output" / "digits", volumes / "gcp" / "output" / "digits"
    job = Job()
    job.run(here, notice_at=4)
    for file in sorted(path for path in here.rglob("*") if path.is_file()):
        server.upload(name, f"digits/{file.relative_to(here)}", file.read_bytes())
    found = Catalogue(server.store(f"{server.scheme}://{name}/digits/checkpoints")).newest_intact()
    assert found
    assert found.cursor == 4
    for key in server.keys(name, "digits/"):
        path = back / key.removeprefix("digits/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(server.download(name, key))
    assert job.run(back) == 0
    assert job.seen == list(range(1, STEPS + 1))


def test_it_goes_on_in_the_bucket_of_another_cloud(
    volumes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """File by file from the one into the other, under the same names."""
    job = Job()
    with server_of("s3") as there, server_of("gs") as here:
        for name, value in {**there.environment, **here.environment}.items():
            monkeypatch.setenv(name, value)
        old, new = there.new_bucket(), here.new_bucket()
        assert job.run(f"s3://{old}/output/digits", notice_at=4) == NOTICED
        for key in there.keys(old):
            here.upload(new, key, there.download(old, key))
        assert job.run(f"gs://{new}/output/digits") == 0
    assert job.seen == list(range(1, STEPS + 1))
