import errno
import json
import logging
import os
import pickle
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from spotrain.checkpoints.retention import Retention, history, prune
from spotrain.train.checkpoint import Catalogue, CheckpointError, CheckpointId, Manifest

MEGABYTE = 1 << 20


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    return Catalogue(tmp_path / "checkpoints")


def state(step: int) -> dict[str, Any]:
    return {"step": step, "weights": torch.full((1000,), float(step))}


def publish(catalogue: Catalogue, world: int, step: int) -> Manifest:
    id = CheckpointId(world, step)
    return catalogue.stage(id, state(step), epoch=0, cursor=step * 8).publish()


def directory(catalogue: Catalogue) -> Path:
    return Path(str(catalogue.store))


def data_file(catalogue: Catalogue, manifest: Manifest) -> Path:
    return directory(catalogue) / manifest.folder / "data-00000.bin"


def manifest_file(catalogue: Catalogue, manifest: Manifest) -> Path:
    return directory(catalogue) / f"{manifest.id}.json"


def contents(catalogue: Catalogue) -> list[str]:
    return sorted(path.name for path in directory(catalogue).iterdir())


# --- What is saved comes back --------------------------------------------------------------------


def test_training_state_comes_back_as_it_was(catalogue: Catalogue) -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(5, 4)).sum().backward()
    optimizer.step()
    saved = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "torch_rng": torch.get_rng_state(),
        "python_rng": random.getstate(),
    }
    loaded = catalogue.load(catalogue.stage(CheckpointId(1, 1), saved, epoch=0, cursor=5).publish())
    assert loaded["python_rng"] == saved["python_rng"]
    assert torch.equal(loaded["torch_rng"], torch.get_rng_state())
    other = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
    other.load_state_dict(loaded["model"])
    torch.optim.Adam(other.parameters()).load_state_dict(loaded["optimizer"])
    for ours, theirs in zip(model.state_dict().values(), other.state_dict().values(), strict=True):
        assert torch.equal(ours, theirs)


SCHEDULERS: dict[str, Callable[[torch.optim.Optimizer], Any]] = {
    "step": lambda o: torch.optim.lr_scheduler.StepLR(o, 2),
    "milestones": lambda o: torch.optim.lr_scheduler.MultiStepLR(o, [2, 4]),
    "cosine": lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 9),
    "one cycle": lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=9),
    "plateau": lambda o: torch.optim.lr_scheduler.ReduceLROnPlateau(o),
    "sequence": lambda o: torch.optim.lr_scheduler.SequentialLR(
        o,
        [
            torch.optim.lr_scheduler.LinearLR(o),
            torch.optim.lr_scheduler.ExponentialLR(o, 0.9),
        ],
        [3],
    ),
}


@pytest.mark.parametrize("name", SCHEDULERS)
def test_every_common_scheduler_can_be_saved(catalogue: Catalogue, name: str) -> None:
    optimizer = torch.optim.SGD(nn.Linear(2, 2).parameters(), lr=0.1, momentum=0.9)
    saved = {"scheduler": SCHEDULERS[name](optimizer).state_dict()}
    manifest = catalogue.stage(CheckpointId(1, 1), saved, epoch=0, cursor=1).publish()
    assert catalogue.load(manifest) == saved


def test_a_manifest_can_be_read_by_a_person(catalogue: Catalogue) -> None:
    staged = catalogue.stage(
        CheckpointId(3, 120),
        state(120),
        epoch=2,
        cursor=960,
        parent=CheckpointId(2, 100),
        extra={"seed": 7, "loss": 0.25},
        created="2026-01-02T03:04:05+00:00",
    )
    manifest = staged.publish()
    text = (directory(catalogue) / "w000003-s00000120.json").read_text()
    names = [f"{manifest.folder}/data-00000.bin", f"{manifest.folder}/index.json"]
    assert json.loads(text) == {
        "id": "w000003-s00000120",
        "epoch": 2,
        "cursor": 960,
        "parent": "w000002-s00000100",
        "files": {name: vars(manifest.files[name]) for name in names},
        "created": "2026-01-02T03:04:05+00:00",
        "extra": {"seed": 7, "loss": 0.25},
    }
    assert catalogue.manifests() == [manifest]


def test_ids_order_by_world_and_then_by_step() -> None:
    ids = [CheckpointId(1, 900), CheckpointId(2, 100), CheckpointId(10, 1)]
    assert sorted(ids) == ids == [CheckpointId.parse(str(id)) for id in ids]
    with pytest.raises(ValueError, match="'latest' is no checkpoint id"):
        CheckpointId.parse("latest")


@pytest.mark.parametrize(
    ("value", "where"),
    [
        pytest.param({"lr": np.float64(0.1)}, r"state\['lr'\] is a numpy.float64", id="numpy"),
        pytest.param({"a": [1, object()]}, r"state\['a'\]\[1\] is a builtins.object", id="object"),
        pytest.param({"a": {np.int64(1): 2}}, r"a key of state\['a'\]", id="key"),
        pytest.param({"f": print}, r"state\['f'\] is a builtins", id="function"),
    ],
)
def test_state_that_could_not_be_loaded_is_refused_when_saved(
    catalogue: Catalogue, value: dict[str, Any], where: str
) -> None:
    with pytest.raises(TypeError, match=where + ".*convert it"):
        catalogue.stage(CheckpointId(1, 1), value, epoch=0, cursor=0)
    assert catalogue.manifests() == []


def test_loading_runs_no_code(catalogue: Catalogue, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "sprung"),)

    manifest = publish(catalogue, 1, 1)
    torch.save({"state": Trap()}, data_file(catalogue, manifest))
    with pytest.raises(CheckpointError, match="cannot be loaded"):
        catalogue.load(manifest)
    data_file(catalogue, manifest).write_bytes(pickle.dumps(Trap()))
    with pytest.raises(CheckpointError, match="newest_intact"):
        catalogue.load(manifest)
    assert not (tmp_path / "sprung").exists()


# --- One writer a name, and no mutable "latest" --------------------------------------------------


def test_nothing_is_there_before_the_first_save(catalogue: Catalogue) -> None:
    assert catalogue.manifests() == []
    assert catalogue.newest_intact() is None


def test_staged_data_is_no_checkpoint_until_published(catalogue: Catalogue) -> None:
    staged = catalogue.stage(CheckpointId(1, 1), state(1), epoch=0, cursor=8)
    assert catalogue.newest_intact() is None
    manifest = staged.publish()
    assert catalogue.newest_intact() == manifest


def test_a_refused_commit_leaves_nothing(catalogue: Catalogue) -> None:
    staged = catalogue.stage(CheckpointId(1, 1), state(1), epoch=0, cursor=8)
    staged.discard()
    staged.discard()
    assert contents(catalogue) == []


def test_a_late_save_of_an_older_world_hides_nothing(catalogue: Catalogue) -> None:
    late = catalogue.stage(CheckpointId(3, 500), state(500), epoch=0, cursor=0)
    newer = publish(catalogue, 4, 130)
    late.publish()
    assert catalogue.newest_intact() == newer


def test_the_second_attempt_at_an_id_is_refused_and_changes_nothing(catalogue: Catalogue) -> None:
    second = catalogue.stage(CheckpointId(2, 5), state(99), epoch=0, cursor=0)
    first = publish(catalogue, 2, 5)
    with pytest.raises(CheckpointError, match=r"w000002-s00000005 is already published.*earlier"):
        second.publish()
    second.discard()
    assert catalogue.newest_intact() == first
    assert catalogue.load(first)["step"] == 5


@contextmanager
def links(monkeypatch: pytest.MonkeyPatch, link: Callable[..., None]) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr(os, "link", link)
        yield


def test_publishing_is_create_only_without_hard_links_too(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(errno.EPERM, "no hard links on this volume")

    second = catalogue.stage(CheckpointId(1, 1), state(99), epoch=0, cursor=0)
    with links(monkeypatch, unsupported):
        first = publish(catalogue, 1, 1)
        with pytest.raises(CheckpointError, match="already published"):
            second.publish()
    assert catalogue.newest_intact() == first


def test_a_published_checkpoint_counts_even_if_its_folder_cannot_be_synced(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    staged = catalogue.stage(CheckpointId(1, 1), state(1), epoch=0, cursor=0)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        staged.publish()
    assert "is published, but a power cut may undo it" in caplog.text
    assert catalogue.newest_intact() == staged.manifest


def test_a_link_request_that_nfs_repeats_is_no_conflict(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def repeated(source: Path, target: Path) -> None:
        link(source, target)
        link(source, target)

    with links(monkeypatch, repeated):
        assert publish(catalogue, 1, 1) == catalogue.newest_intact()


# --- Damage is seen, named and passed over -------------------------------------------------------


def truncate(catalogue: Catalogue, manifest: Manifest) -> None:
    os.truncate(data_file(catalogue, manifest), 100)


def flip_a_byte(catalogue: Catalogue, manifest: Manifest) -> None:
    path = data_file(catalogue, manifest)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def delete_the_data(catalogue: Catalogue, manifest: Manifest) -> None:
    data_file(catalogue, manifest).unlink()


def break_the_manifest(catalogue: Catalogue, manifest: Manifest) -> None:
    manifest_file(catalogue, manifest).write_text('{"id": "w000002-')


def empty_the_manifest(catalogue: Catalogue, manifest: Manifest) -> None:
    manifest_file(catalogue, manifest).write_text("[]")


def rename_the_manifest(catalogue: Catalogue, manifest: Manifest) -> None:
    path = manifest_file(catalogue, manifest)
    path.rename(path.with_name("w000009-s00000009.json"))


def point_outside(catalogue: Catalogue, manifest: Manifest) -> None:
    path = manifest_file(catalogue, manifest)
    document = json.loads(path.read_text())
    document["files"] = {"../x/state.pt": {"size": 0, "sha256": ""}}
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        pytest.param(truncate, "data-00000.bin has 100 bytes instead of", id="truncated"),
        pytest.param(flip_a_byte, "data-00000.bin has changed: its SHA-256", id="flipped byte"),
        pytest.param(delete_the_data, "data-00000.bin is missing", id="deleted data"),
        pytest.param(break_the_manifest, "cannot be read (JSONDecodeError", id="broken manifest"),
        pytest.param(empty_the_manifest, "cannot be read (TypeError", id="not a manifest"),
        pytest.param(rename_the_manifest, "it says that it is w000002", id="renamed manifest"),
        pytest.param(point_outside, "must have the form", id="path outside the catalogue"),
    ],
)
def test_a_damaged_checkpoint_is_passed_over_loudly(
    catalogue: Catalogue,
    break_it: Callable[[Catalogue, Manifest], None],
    words: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    older = publish(catalogue, 1, 10)
    break_it(catalogue, publish(catalogue, 2, 20))
    assert catalogue.newest_intact() == older
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert words in record.message
    assert "using w000001-s00000010 instead" in record.message
    assert catalogue.load(older)["step"] == 10


def test_where_all_are_damaged_there_is_none_and_it_is_said(
    catalogue: Catalogue, caplog: pytest.LogCaptureFixture
) -> None:
    truncate(catalogue, publish(catalogue, 1, 10))
    assert catalogue.newest_intact() is None
    assert "and no older one is intact" in caplog.text


def test_a_broken_manifest_is_left_out_of_the_list_with_a_warning(
    catalogue: Catalogue, caplog: pytest.LogCaptureFixture
) -> None:
    older = publish(catalogue, 1, 10)
    break_the_manifest(catalogue, publish(catalogue, 2, 20))
    (directory(catalogue) / "wrong-stuff.json").write_text("{}")
    assert catalogue.manifests() == [older]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "w000002-s00000020.json cannot be read" in caplog.text


# --- A failing disk ------------------------------------------------------------------------------


@contextmanager
def file_size_limit(limit: int) -> Iterator[None]:
    """The kernel fails every write beyond it, as it does on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("limit", [0, MEGABYTE], ids=["at once", "halfway"])
def test_a_disk_that_fills_up_publishes_nothing(catalogue: Catalogue, limit: int) -> None:
    older = publish(catalogue, 1, 10)
    before = contents(catalogue)
    large = {"weights": torch.zeros(MEGABYTE)}
    with (
        file_size_limit(limit),
        pytest.raises(CheckpointError, match=r"w000001-s00000020 could not be .*nothing was"),
    ):
        catalogue.stage(CheckpointId(1, 20), large, epoch=0, cursor=0)
    assert contents(catalogue) == before
    assert catalogue.newest_intact() == older


def test_a_volume_that_fails_only_when_synced_publishes_nothing(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    directory(catalogue).mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(CheckpointError, match=r"No space left on device.*free space"):
            catalogue.stage(CheckpointId(1, 20), state(1), epoch=0, cursor=0)
    assert contents(catalogue) == []


def test_metadata_that_is_no_json_leaves_nothing_behind(catalogue: Catalogue) -> None:
    with pytest.raises(TypeError, match="JSON"):
        catalogue.stage(CheckpointId(1, 1), state(1), epoch=0, cursor=0, extra={"x": object()})
    assert contents(catalogue) == []


# --- Pruning -------------------------------------------------------------------------------------


def test_pruning_keeps_the_newest_and_the_whole_lineage(catalogue: Catalogue) -> None:
    old, middle, new = (publish(catalogue, 1, step) for step in (10, 20, 30))
    assert prune(catalogue, Retention(2)) == [old.id]
    assert catalogue.manifests() == [new, middle]
    assert history(catalogue) == [new, middle, old]
    assert not data_file(catalogue, old).parent.exists()
    assert prune(catalogue, Retention(2)) == []


def test_pruning_spares_the_newest_intact_one(catalogue: Catalogue) -> None:
    old, intact, damaged = (publish(catalogue, 1, step) for step in (10, 20, 30))
    flip_a_byte(catalogue, damaged)
    assert prune(catalogue, Retention(1)) == [old.id]
    assert catalogue.newest_intact() == intact


def test_pruning_removes_what_killed_attempts_left_after_an_hour(catalogue: Catalogue) -> None:
    kept = publish(catalogue, 1, 10)
    young = catalogue.stage(CheckpointId(1, 20), state(20), epoch=0, cursor=0)
    dead = catalogue.stage(CheckpointId(1, 20), state(20), epoch=0, cursor=0)
    unreadable = publish(catalogue, 1, 15)
    break_the_manifest(catalogue, unreadable)
    two_hours_ago = time.time() - 7200
    for manifest in (kept, dead.manifest, unreadable):
        folder = data_file(catalogue, manifest).parent
        for path in (*folder.iterdir(), folder):
            os.utime(path, (two_hours_ago, two_hours_ago))
    prune(catalogue, Retention(1))
    assert not (directory(catalogue) / dead.folder).exists()
    assert (directory(catalogue) / young.folder).exists(), "its save may still be going on"
    assert data_file(catalogue, unreadable).exists(), "a person may still mend its manifest"
    assert catalogue.newest_intact() == kept


def test_what_cannot_be_pruned_does_not_stop_training(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def read_only(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    old, new = (publish(catalogue, 1, step) for step in (10, 20))
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", read_only)
        assert prune(catalogue, Retention(1)) == []
    assert "w000001-s00000010 could not be pruned: [Errno 30]" in caplog.text
    assert catalogue.manifests() == [new, old]


def test_pruning_everything_is_refused() -> None:
    with pytest.raises(ValueError, match="keep is 0, but must be at least 1"):
        Retention(0)
    with pytest.raises(ValueError, match="keep_hours is 0, but must be above 0"):
        Retention(keep_hours=0)


def created(catalogue: Catalogue, step: int, at: datetime) -> Manifest:
    staged = catalogue.stage(
        CheckpointId(1, step), state(step), epoch=0, cursor=0, created=at.isoformat()
    )
    return staged.publish()


def test_checkpoints_that_are_too_old_go_but_never_the_last_one(catalogue: Catalogue) -> None:
    noon = datetime(2026, 1, 2, 12, tzinfo=UTC)
    times = [(10, 30), (20, 25), (30, 23), (40, 1)]
    made = [created(catalogue, step, noon - timedelta(hours=age)) for step, age in times]
    retention = Retention(keep=3, keep_hours=24)
    assert prune(catalogue, retention, now=noon) == [made[1].id, made[0].id]
    assert prune(catalogue, retention, now=noon + timedelta(days=365)) == [made[2].id]
    assert catalogue.newest_intact() == made[3]


@given(
    ages=st.lists(st.floats(0, 100), max_size=12),
    keep=st.integers(1, 5),
    keep_hours=st.none() | st.floats(0.5, 50),
)
def test_what_is_retired_is_over_the_count_or_over_the_age_and_never_the_newest(
    ages: list[float], keep: int, keep_hours: float | None
) -> None:
    noon = datetime(2026, 1, 2, 12, tzinfo=UTC)
    manifests = [
        Manifest(
            id=CheckpointId(1, 1000 - number),
            epoch=0,
            cursor=0,
            parent=None,
            files={},
            created=(noon - timedelta(hours=age)).isoformat(),
        )
        for number, age in enumerate(sorted(ages))
    ]
    retired = Retention(keep, keep_hours).retired(manifests, noon)
    limit = timedelta(hours=keep_hours) if keep_hours is not None else timedelta.max
    for number, manifest in enumerate(manifests):
        old = noon - datetime.fromisoformat(manifest.created) > limit
        assert (manifest in retired) == (number > 0 and (number >= keep or old))


# --- Kills ---------------------------------------------------------------------------------------

KILLS = 40
DRIVER = """
import os, random, signal, sys, time
from pathlib import Path
import torch
from spotrain.train.checkpoint import Catalogue, CheckpointId
from spotrain.checkpoints.retention import Retention, prune

torch.set_num_threads(1)  # so that a fork is safe
directory, kills = Path(sys.argv[1]), int(sys.argv[2])
chance = random.Random(1)

def save_until_killed(world, pipe):
    catalogue = Catalogue(directory)
    parent = (newest := catalogue.newest_intact()) and newest.id
    for step in range(1, 1000):
        state = {"step": step, "weights": torch.full((1 << 18,), float(step))}
        id = CheckpointId(world, step)
        catalogue.stage(id, state, epoch=0, cursor=step, parent=parent).publish()
        os.write(pipe, b"%d\\n" % step)
        prune(catalogue, Retention(2))
    os._exit(0)

start = time.monotonic()
reader, writer = os.pipe()
if not (child := os.fork()):
    save_until_killed(0, writer)
for _ in range(10):
    os.read(reader, 100)
usual_seconds = (time.monotonic() - start) / 10
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)

published = 0
for world in range(1, kills + 1):
    reader, writer = os.pipe()
    if not (child := os.fork()):
        save_until_killed(world, writer)
    os.close(writer)
    told, wanted = b"", chance.randint(0, 3)
    while told.count(b"\\n") < wanted:
        told += os.read(reader, 100)
    time.sleep(chance.uniform(0, 2 * usual_seconds))  # any moment of the next save will do
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    steps = (told.decode() + os.fdopen(reader).read()).split()
    catalogue = Catalogue(directory)
    newest = catalogue.newest_intact()
    if steps:
        assert newest.id >= CheckpointId(world, int(steps[-1])), (newest.id, steps)
    if newest is not None:
        state = catalogue.load(newest)
        assert state["step"] == newest.id.step
        assert bool((state["weights"] == state["step"]).all())
    published += len(steps)
names = {name.split("/")[0] for manifest in catalogue.manifests() for name in manifest.files}
left = {path.name for path in directory.iterdir() if path.is_dir()} - names - {"history"}
print(published, len(left))
"""


def test_a_kill_at_any_moment_leaves_the_old_or_the_new_checkpoint(tmp_path: Path) -> None:
    """Real processes, killed while they save without pause; what was published is never lost."""
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(tmp_path), str(KILLS)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "damaged" not in done.stderr
    assert "cannot be read" not in done.stderr
    published, left_over = map(int, done.stdout.split())
    assert published >= KILLS // 2
    assert left_over >= KILLS // 4, "kills must fall into saves, or this test shows nothing"
