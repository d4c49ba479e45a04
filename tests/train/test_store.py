"""What every store promises: on a file system, and on real servers of S3 and Cloud Storage."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from spotrain.checkpoints.retention import Retention, history, prune
from spotrain.checkpoints.store import LIBRARIES, Directory, Store, open_store, read
from spotrain.train.checkpoint import Catalogue, CheckpointError, CheckpointId
from tests.train.buckets import S3Server, Server, server_of
from tests.train.faults import Answer, proxy_to

MEGABYTE = 1 << 20


@pytest.fixture(scope="module")
def s3() -> Iterator[Server]:
    with server_of("s3") as made:
        yield made


@pytest.fixture(scope="module")
def gs() -> Iterator[Server]:
    with server_of("gs") as made:
        yield made


@pytest.fixture(params=["s3", "gs"])
def server(request: pytest.FixtureRequest) -> Server:
    made: Server = request.getfixturevalue(request.param)
    return made


@pytest.fixture(params=["directory", "s3", "gs"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "directory":
        return Directory(tmp_path / "run" / "checkpoints")
    made: Server = request.getfixturevalue(request.param)
    return made.new_store()


def put(store: Store, name: str, data: bytes = b"data") -> None:
    with store.write(name) as sink:
        sink(memoryview(data))


def state(step: int) -> dict[str, Any]:
    return {"step": step, "weights": torch.full((1000,), float(step))}


def publish(catalogue: Catalogue, world: int, step: int) -> CheckpointId:
    staged = catalogue.stage(CheckpointId(world, step), state(step), epoch=0, cursor=0)
    return staged.publish().id


# --- Files ---------------------------------------------------------------------------------------


def test_an_empty_place_has_no_files(store: Store) -> None:
    assert store.files() == store.files("history") == store.folders() == []
    with pytest.raises(FileNotFoundError):
        read(store, "x")
    with pytest.raises(FileNotFoundError):
        store.size("x")
    with pytest.raises(FileNotFoundError):
        store.age_seconds("x")
    store.remove("x")


def test_files_are_listed_by_folder_and_read_in_parts(store: Store) -> None:
    put(store, "a/one", b"0123456789")
    put(store, "a/two", b"")
    put(store, "b/one")
    assert sorted(store.folders()) == ["a", "b"]
    assert sorted(store.files("a")) == ["a/one", "a/two"]
    assert store.files() == []
    assert (store.size("a/one"), store.size("a/two")) == (10, 0)
    assert read(store, "a/one") == b"0123456789"
    assert read(store, "a/one", 3) == b"3456789"
    assert read(store, "a/one", 3, 2) == b"34"
    assert read(store, "a/one", 3, 0) == read(store, "a/two") == b""
    store.remove("a")
    assert store.folders() == ["b"]
    assert 0 <= store.age_seconds("b") < 3600


def test_a_file_that_could_not_be_finished_is_not_there(store: Store) -> None:
    def fail() -> None:
        with store.write("a/one") as sink:
            sink(memoryview(b"half"))
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        fail()
    assert store.files("a") == []


def test_an_identity_changes_with_the_file(store: Store) -> None:
    put(store, "a/one", b"1")
    before = store.identity("a/one")
    assert store.identity("a/one") == before
    store.remove("a")
    put(store, "a/one", b"2")
    assert store.identity("a/one") != before


def test_a_name_is_given_once(store: Store) -> None:
    put(store, "a/draft", b"first")
    put(store, "b/draft", b"second")
    store.publish("a/draft", "taken.json")
    with pytest.raises(FileExistsError):
        store.publish("b/draft", "taken.json")
    assert read(store, "taken.json") == b"first"
    assert store.files() == ["taken.json"]


def test_publishing_again_what_is_published_is_no_conflict(store: Store) -> None:
    """A request whose answer got lost is sent again."""
    put(store, "a/draft", b"first")
    store.publish("a/draft", "taken.json")
    store.publish("a/draft", "taken.json")
    assert read(store, "taken.json") == b"first"


def test_moving_takes_a_file_out_of_its_folder(store: Store) -> None:
    put(store, "a/draft", b"first")
    store.publish("a/draft", "one.json")
    store.move("one.json", "history/one.json")
    assert (store.files(), store.files("history")) == ([], ["history/one.json"])
    assert read(store, "history/one.json") == b"first"
    with pytest.raises(FileNotFoundError):
        store.move("one.json", "history/one.json")


# --- Checkpoints ---------------------------------------------------------------------------------


def test_a_checkpoint_comes_back_from_any_store(store: Store) -> None:
    catalogue = Catalogue(store)
    assert catalogue.newest_intact() is None
    publish(catalogue, 1, 5)
    newest = Catalogue(store).newest_intact()
    assert newest is not None
    loaded = Catalogue(store).load(newest)
    assert loaded["step"] == 5
    assert torch.equal(loaded["weights"], torch.full((1000,), 5.0))


def test_the_second_writer_of_an_id_changes_nothing(store: Store) -> None:
    catalogue = Catalogue(store)
    second = catalogue.stage(CheckpointId(1, 5), state(99), epoch=0, cursor=0)
    publish(catalogue, 1, 5)
    with pytest.raises(CheckpointError, match="already published"):
        second.publish()
    second.discard()
    newest = catalogue.newest_intact()
    assert newest is not None
    assert catalogue.load(newest)["step"] == 5


def test_damaged_data_is_passed_over_on_any_store(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    catalogue = Catalogue(store)
    older, newer = publish(catalogue, 1, 5), publish(catalogue, 2, 3)
    name = next(m for m in catalogue.manifests() if m.id == newer).folder + "/data-00000.bin"
    data = bytearray(read(store, name))
    data[len(data) // 2] ^= 1
    kept = {file: read(store, file) for file in store.files(name.split("/")[0])}
    store.remove(name.split("/")[0])
    for file, content in {**kept, name: bytes(data)}.items():
        put(store, file, content)
    newest = Catalogue(store).newest_intact()
    assert newest is not None
    assert newest.id == older
    assert "its SHA-256 differs; using w000001-s00000005 instead" in caplog.text


def test_old_checkpoints_go_and_their_manifests_stay(store: Store) -> None:
    catalogue = Catalogue(store)
    ids = [publish(catalogue, 1, step) for step in (10, 20, 30)]
    assert prune(catalogue, Retention(keep=2)) == [ids[0]]
    assert [manifest.id for manifest in history(catalogue)] == ids[::-1]
    assert len(store.folders()) == 3, "two folders of data, and history"


# --- Buckets alone -------------------------------------------------------------------------------


def test_of_many_writers_at_once_one_gets_the_name(server: Server) -> None:
    store = server.new_store()
    writers = 8
    for writer in range(writers):
        put(store, f"{writer}/draft", b"%d" % writer)
    won: list[int] = []
    together = threading.Barrier(writers)

    def attempt(writer: int) -> None:
        together.wait()
        try:
            store.publish(f"{writer}/draft", "taken.json")
        except FileExistsError:
            return
        won.append(writer)

    threads = [threading.Thread(target=attempt, args=(writer,)) for writer in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [read(store, "taken.json")] == [b"%d" % writer for writer in won]


def test_a_large_file_goes_up_in_parts_and_comes_back_whole(server: Server) -> None:
    store = server.new_store(part=5 * MEGABYTE)
    weights = torch.randn(4 * MEGABYTE)  # 16 MiB
    catalogue = Catalogue(store)
    manifest = catalogue.stage(
        CheckpointId(1, 1), {"weights": weights}, epoch=0, cursor=0
    ).publish()
    assert catalogue.newest_intact() == manifest
    assert torch.equal(catalogue.load(manifest)["weights"], weights)


@pytest.mark.parametrize("size", [10 * MEGABYTE - 1, 10 * MEGABYTE, 10 * MEGABYTE + 1])
def test_a_file_may_end_anywhere_in_a_part(
    server: Server, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spotrain.checkpoints.store.gs.RANGE", 5 * MEGABYTE)
    store, data = server.new_store(part=5 * MEGABYTE), bytes(range(256)) * (size // 256 + 1)
    with store.write("a/one") as sink:
        for start in range(0, size, MEGABYTE):
            sink(memoryview(data)[start : min(start + MEGABYTE, size)])
    assert store.size("a/one") == size
    assert read(store, "a/one") == data[:size]
    assert read(store, "a/one", 5 * MEGABYTE - 1, 2) == data[5 * MEGABYTE - 1 : 5 * MEGABYTE + 1]


def test_a_large_file_that_fails_leaves_no_parts_behind(server: Server) -> None:
    name = server.new_bucket()
    store = server.store(f"{server.scheme}://{name}", part=5 * MEGABYTE)

    def fail() -> None:
        with store.write("a/one") as sink:
            sink(memoryview(bytes(6 * MEGABYTE)))
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError):
        fail()
    assert store.files("a") == []
    if isinstance(server, S3Server):  # Google lists none; see test_store_faults.py
        assert server.unfinished(name) == []


def test_two_jobs_in_one_bucket_do_not_see_each_other(server: Server) -> None:
    name = server.new_bucket()
    first, second = (server.store(f"{server.scheme}://{name}/{job}") for job in ("run1", "run10"))
    publish(Catalogue(first), 1, 1)
    assert second.files() == second.folders() == []
    assert Catalogue(second).newest_intact() is None


def test_a_bucket_that_is_not_there_is_a_failed_save_with_its_reason(server: Server) -> None:
    place = f"{server.scheme}://nobody-has-this/run"
    catalogue = Catalogue(server.store(place))
    with pytest.raises(CheckpointError, match=rf"{place}/.*: (NoSuchBucket|404): "):
        publish(catalogue, 1, 1)


def test_a_bucket_that_is_not_there_is_no_empty_one(server: Server) -> None:
    """Training would begin anew, and find out at its first save."""
    store = server.store(f"{server.scheme}://nobody-has-this/run")
    with pytest.raises(OSError, match=r"NoSuchBucket|404") as raised:
        Catalogue(store).newest_published()
    assert not isinstance(raised.value, FileNotFoundError)


# --- Places --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "said"),
    [
        pytest.param("s3://", "names no bucket: give s3://<bucket>/<prefix>", id="no S3 bucket"),
        pytest.param("gs:///p", "names no bucket: give gs://<bucket>/<prefix>", id="no GS bucket"),
        pytest.param("az://b/p", "mount other storage as a folder", id="other cloud"),
        pytest.param("az://", "mount other storage as a folder", id="no bucket of another"),
        pytest.param(Path("gs://b/p"), "give 'gs://b/p' as text", id="address as a path"),
    ],
)
def test_a_place_that_is_none_is_refused(place: str | Path, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        open_store(place)


@pytest.mark.parametrize("scheme", ["s3", "gs"])
def test_a_bucket_is_named_as_it_was_given(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:1")
    assert str(open_store(f"{scheme}://team/output/run1/")) == f"{scheme}://team/output/run1"
    assert str(open_store(f"{scheme}://team")) == f"{scheme}://team"


def opened(place: str, first: str) -> subprocess.CompletedProcess[str]:
    """By a Python that has done `first` before."""
    script = f"{first}from spotrain.checkpoints.store import open_store\nopen_store({place!r})\n"
    environment = {
        **os.environ,
        "AWS_DEFAULT_REGION": "us-east-1",
        "STORAGE_EMULATOR_HOST": "http://127.0.0.1:1",
    }
    command = [sys.executable, "-c", script]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def opened_without(packages: str, place: str) -> subprocess.CompletedProcess[str]:
    return opened(place, f"import sys\nsys.modules.update(dict.fromkeys({packages.split(',')}))\n")


@pytest.mark.parametrize(
    ("place", "packages"),
    [("/tmp", "boto3,botocore,google"), ("s3://team/run", "google"), ("gs://team/run", "boto3")],
)
def test_a_place_is_opened_without_the_libraries_of_others(place: str, packages: str) -> None:
    done = opened_without(packages, place)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("place", "packages", "library"),
    [
        ("s3://team/run", "boto3", "boto3"),
        ("gs://team/run", "google.cloud.storage", "google-cloud-storage"),
    ],
)
def test_a_library_that_is_missing_is_named_with_how_to_get_it(
    place: str, packages: str, library: str
) -> None:
    done = opened_without(packages, place)
    extra = place.partition(":")[0]
    assert (
        f"{place} needs {library}, which is not installed: pip install 'spotrain[{extra}]'"
        in done.stderr
    )


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("s3://team/run", "botocore.config.Config"),
        ("gs://team/run", "google.cloud.storage.exceptions.DataCorruption"),
    ],
)
def test_a_library_that_is_too_old_is_named_with_how_to_get_a_newer_one(
    place: str, name: str
) -> None:
    """It is there, and lacks a name that a newer one has."""
    module, _, attribute = name.rpartition(".")
    older = f"import {module} as module; del module.{attribute}\n"
    done = opened(place, older)
    scheme = place.partition(":")[0]
    assert (
        f"{place} needs {LIBRARIES[scheme]}, and not the one that is installed: "
        f"pip install --upgrade 'spotrain[{scheme}]' (cannot import name '{attribute}'"
    ) in done.stderr


def test_a_profile_that_nobody_has_is_an_error_of_the_store(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "misspelt")
    with pytest.raises(OSError, match=r"s3://team: .*misspelt"):
        open_store("s3://team/run")


@pytest.mark.parametrize(("is_pod", "code"), [(True, 0), (False, 1)])
def test_a_pod_waits_for_its_identity_and_other_machines_do_not(
    is_pod: bool, code: int, tmp_path: Path
) -> None:
    """As GKE has it: the metadata server answers some seconds after the pod began."""
    late = [Answer(503, b"")] * 6
    there = Answer(200, b"googleapis.com", "text/plain", {"Metadata-Flavor": "Google"})
    with proxy_to("http://127.0.0.1:1") as metadata:
        metadata.fault = lambda _: late.pop() if late else there
        host = metadata.address.removeprefix("http://")
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "GCE_METADATA_HOST": host,
            "GCE_METADATA_IP": host,
            **({"KUBERNETES_SERVICE_HOST": "127.0.0.1"} if is_pod else {}),
        }
        opening = "from spotrain.checkpoints.store import open_store; open_store('gs://team/run')"
        done = subprocess.run(
            [sys.executable, "-c", opening],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == code, done.stderr


def test_a_machine_without_an_identity_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """S3's client finds it out at its first request."""
    monkeypatch.delenv("STORAGE_EMULATOR_HOST", raising=False)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere")
    with pytest.raises(OSError, match=r"gs://team: .*/nowhere"):
        open_store("gs://team/run")
