"""`spotrain checkpoints` and reports of a job whose output lies in a bucket: on real servers of S3
and Cloud Storage, without an archive."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spotrain import contract
from spotrain.archive.folder import Folder
from spotrain.cli.errors import USAGE
from spotrain.cli.main import main
from spotrain.cli.stories import gather
from spotrain.kinds import Object
from tests.archive.test_checkpoints import publish
from tests.cli.documents import job
from tests.cli.report_stories import rich
from tests.cli.stalling_server import stalling_server
from tests.cli.test_report import NOW, TARIFF, archive, no_checkpoints
from tests.train.buckets import Server, server_of

__all__ = ["archive"]


@pytest.fixture(scope="module", params=["s3", "gs"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with server_of(request.param) as made:
        yield made


@pytest.fixture
def output(server: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return f"{server.scheme}://{server.new_bucket()}/runs/digits"


@pytest.fixture
def typed(output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The exit code of `spotrain checkpoints digits` with these words."""
    with stalling_server("", tmp_path) as (api, environment):
        api.jobs.append(told_of(output))
        monkeypatch.setenv("KUBECONFIG", environment["KUBECONFIG"])

        def run(*words: str) -> int:
            with pytest.raises(SystemExit) as ended:
                main(["checkpoints", "digits", *words])
            assert isinstance(ended.value.code, int)
            return ended.value.code

        yield run


def told_of(output: str, name: str = "digits") -> Object:
    document = job(name, minReplicas=1)
    pod = document["spec"]["replicaSpecs"][contract.WORKER]["template"]["spec"]
    pod["containers"][0]["env"] = [{"name": contract.ENV_OUTPUT, "value": output}]
    return document


def upload(server: Server, output: str, folder: Path) -> None:
    bucket, _, prefix = output.partition("://")[2].partition("/")
    for file in folder.rglob("*.*"):
        if file.is_file():
            key = f"{prefix}/checkpoints/{file.relative_to(folder)}"
            server.upload(bucket, key, file.read_bytes())


def test_checkpoints_in_a_bucket_are_listed_verified_and_pruned(
    typed: Any, server: Server, output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed() == 0
    assert f"digits has no checkpoint in {output}/checkpoints" in capsys.readouterr().err
    folder = tmp_path / "checkpoints"
    files = [publish(folder, step) for step in (10, 20, 30)]
    upload(server, output, folder)
    assert typed("--verify", "-o", "json") == 0
    told = json.loads(capsys.readouterr().out)
    assert [(each["step"], each["intact"]) for each in told] == [(30, True), (20, True), (10, True)]
    files[1].write_bytes(b"changed")
    upload(server, output, folder)
    assert typed("--verify") == 1
    assert "SHA-256 differs" in " ".join(capsys.readouterr().out.split())
    assert typed("--prune", "--keep", "1", "-o", "name") == 0
    assert capsys.readouterr().out.split() == ["w000001-s00000030"]


def test_a_bucket_that_cannot_be_read_is_told_in_one_line(
    typed: Any, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed("--folder", f"{server.scheme}://nobodys/run") == USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"spotrain: {server.scheme}://nobodys/run/checkpoints")
    assert "your own login" in line


def test_a_report_tells_of_checkpoints_in_a_bucket(
    server: Server, output: str, archive: Folder, tmp_path: Path
) -> None:
    publish(tmp_path / "checkpoints", 10)
    upload(server, output, tmp_path / "checkpoints")
    document = told_of(output, rich().job.name)
    document["metadata"]["uid"] = rich().job.uid
    story = gather(
        archive,
        TARIFF,
        rich().job.name,
        document=document,
        list_checkpoints=no_checkpoints,
        now=NOW,
    )
    assert [each.step for each in story.checkpoints] == [10]
