"""The checker itself is checked: a fault that it cannot see would make its zeros worthless."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from spotrain.checkpoints.retention import Retention, prune
from spotrain.ledger.exactness import (
    Commit,
    Consumption,
    Exactness,
    audit,
    read_commits,
    read_sample_log,
)
from spotrain.train.checkpoint import Catalogue, CheckpointId
from spotrain.train.sampler import ElasticBatchSampler, permutation

SIZE = 40
SEED = 5


class Job:
    """Plays a job: its worlds train with the real sampler, and lose what they did not save."""

    def __init__(self, size: int = SIZE, batch_size: int = 2) -> None:
        self.size = size
        self.batch_size = batch_size
        self.commits: list[Commit] = []
        self.records: list[Consumption] = []

    def world(self, ranks: int, steps: int, *, save_every: int = 1, epochs: int = 3) -> None:
        """Restores the newest commit, then trains `steps` steps, through ends of epochs."""
        start = self.commits[-1] if self.commits else None
        world = max([record.world for record in self.records], default=0) + 1
        epoch, cursor, step = (start.epoch, start.cursor, start.step) if start else (0, 0, 0)
        done = 0
        while epoch < epochs and done < steps:
            for batches in self.batches(ranks, epoch, cursor, steps - done):
                step, done = step + 1, done + 1
                cursor = batches[0][2]
                for rank, (ids, padding, _) in enumerate(batches):
                    self.records.append(
                        Consumption(
                            world=world, rank=rank, step=step, epoch=epoch, ids=ids, padding=padding
                        )
                    )
                if done % save_every == 0:
                    parent = start.key if start else None
                    self.commits.append(
                        Commit(world=world, step=step, epoch=epoch, cursor=cursor, parent=parent)
                    )
            if cursor == self.size:
                epoch, cursor = epoch + 1, 0

    def batches(
        self, ranks: int, epoch: int, cursor: int, limit: int
    ) -> Iterator[list[tuple[Sequence[int], int, int]]]:
        samplers = [
            ElasticBatchSampler(
                self.size,
                batch_size=self.batch_size,
                rank=rank,
                world_size=ranks,
                seed=SEED,
                epoch=epoch,
                cursor=cursor,
            ).batches()
            for rank in range(ranks)
        ]
        for _, step in zip(range(limit), zip(*samplers, strict=True), strict=False):
            yield [(rank.indices, rank.padding, rank.cursor) for rank in step]

    def audit(self, *, with_order: bool = False) -> Exactness:
        order = lambda epoch: permutation(self.size, seed=SEED, epoch=epoch).tolist()  # noqa: E731
        return audit(self.size, self.commits, self.records, order=order if with_order else None)


@pytest.fixture
def job() -> Job:
    """Three worlds of 2, 3 and 1 ranks; the second one is lost with two unsaved steps."""
    job = Job()
    job.world(2, 3)
    job.world(3, 5, save_every=3)
    job.world(1, 1000)
    return job


def change(records: list[Consumption], index: int, **fields: object) -> None:
    records[index] = replace(records[index], **fields)  # type: ignore[arg-type]


def problem(result: Exactness, words: str) -> str:
    assert not result.is_exact
    (found, *_) = [problem for problem in result.problems if words in problem] or [""]
    assert found, f"no problem says {words!r}: {result.problems}"
    return found


# --- What is right passes ------------------------------------------------------------------------


def test_a_job_through_several_worlds_is_exact(job: Job) -> None:
    assert job.audit() == Exactness(0, 0, padding=0, epochs_checked=3, problems=())


def test_work_that_was_thrown_away_is_no_repetition(job: Job) -> None:
    redone = [record for record in job.records if record.world == 2 and record.step > 6]
    assert redone, "the second world did steps that nobody restored"
    assert job.audit().is_exact


def test_a_world_that_restored_an_older_checkpoint_is_exact() -> None:
    job = Job()
    job.world(2, 6)
    del job.commits[4:]  # damaged: passed over by the next world
    job.world(2, 5)
    assert job.audit(with_order=True).is_exact


def test_a_first_checkpoint_before_any_step_belongs_to_the_lineage() -> None:
    job = Job()
    job.commits.append(Commit(world=1, step=0, epoch=0, cursor=0, parent=None))
    job.world(2, 13)
    assert job.audit(with_order=True).is_exact
    job.commits[0] = replace(job.commits[0], cursor=4)
    problem(job.audit(), "checkpoint w000001-s00000000 says that 4 samples of epoch 0")


def test_an_epoch_in_progress_is_checked_up_to_its_cursor() -> None:
    job = Job()
    job.world(2, 13)
    result = job.audit(with_order=True)
    assert result == Exactness(0, 0, padding=0, epochs_checked=2, problems=())


def test_padding_is_counted_and_allowed_at_the_end() -> None:
    job = Job(size=41, batch_size=1)
    job.world(8, 4)  # 32 samples
    job.world(2, 3)  # 38 samples, so three are left
    job.world(8, 1000, epochs=1)
    assert job.audit() == Exactness(0, 0, padding=5, epochs_checked=1, problems=())


def test_an_epoch_that_is_over_may_be_stated_as_the_next_one_at_zero() -> None:
    job = Job()
    job.world(2, 10)
    job.commits[-1] = replace(job.commits[-1], epoch=1, cursor=0)
    assert job.audit() == Exactness(0, 0, padding=0, epochs_checked=1, problems=())


@given(
    size=st.integers(1, 90),
    batch_size=st.integers(1, 5),
    worlds=st.lists(
        st.tuples(st.integers(1, 6), st.integers(1, 20), st.integers(1, 4)), min_size=1, max_size=8
    ),
)
def test_any_history_of_the_real_sampler_is_exact(
    size: int, batch_size: int, worlds: list[tuple[int, int, int]]
) -> None:
    job = Job(size, batch_size)
    for ranks, steps, save_every in worlds:
        job.world(ranks, steps, save_every=save_every)
    if job.commits:
        assert job.audit(with_order=True).is_exact


# --- What is wrong is seen -----------------------------------------------------------------------


def test_a_broken_cursor_is_seen_in_the_position(job: Job) -> None:
    job.commits[1] = replace(job.commits[1], cursor=job.commits[1].cursor + 1)
    found = problem(job.audit(), "says that 9 samples")
    assert found == (
        "checkpoint w000001-s00000002 says that 9 samples of epoch 0 were consumed, but the "
        "ranks logged 8"
    )


def test_a_world_that_starts_too_early_repeats_samples() -> None:
    job = Job()
    job.world(2, 3)
    honest = job.commits[-1]
    job.commits[-1] = replace(honest, cursor=honest.cursor - 3)
    job.world(2, 1000, epochs=1)
    job.commits[2] = honest
    result = job.audit()
    assert (result.lost, result.repeated) == (0, 3)
    problem(result, "epoch 0: repeated ")


def test_a_world_that_starts_too_late_loses_samples() -> None:
    job = Job()
    job.world(2, 3)
    job.commits[-1] = replace(job.commits[-1], cursor=job.commits[-1].cursor + 2)
    job.world(2, 1000, epochs=1)
    result = job.audit()
    assert (result.lost, result.repeated) == (2, 0)
    problem(result, "epoch 0: lost ")
    problem(result, "says that 14 samples")


def test_a_dropped_record_is_seen(job: Job) -> None:
    gone = job.records.pop(3)
    result = job.audit()
    assert (result.lost, result.repeated) == (len(gone.ids), 0)
    problem(result, f"world {gone.world}: rank {gone.rank} has no record of step {gone.step}")


def test_a_repeated_record_is_seen(job: Job) -> None:
    job.records.append(job.records[3])
    result = job.audit()
    assert (result.lost, result.repeated) == (0, 2)
    problem(result, "world 1: rank 1 repeats its record of step 2")


def test_a_rank_that_logged_nothing_is_seen(job: Job) -> None:
    job.records = [r for r in job.records if (r.world, r.rank) != (1, 1)]
    assert job.audit().lost == 6


def test_a_world_that_logged_nothing_is_seen(job: Job) -> None:
    job.records = [record for record in job.records if record.world != 1]
    result = job.audit()
    assert result.lost == 12
    problem(result, "world 1: rank 0 has no record of step 1, 2, 3")


def test_one_sample_in_the_place_of_another_is_seen(job: Job) -> None:
    ids = list(job.records[0].ids)
    other = job.records[1].ids[0]
    change(job.records, 0, ids=[other, *ids[1:]])
    result = job.audit()
    assert (result.lost, result.repeated) == (1, 1)
    assert f"epoch 0: lost {ids[0]}" in result.problems
    assert f"epoch 0: repeated {other}" in result.problems


def test_an_id_outside_the_data_set_is_seen(job: Job) -> None:
    change(job.records, 0, ids=[SIZE, *job.records[0].ids[1:]])
    assert job.audit().lost == 1
    problem(job.audit(), f"epoch 0: consumed, though not due, {SIZE}")


def test_samples_out_of_order_are_seen_in_an_epoch_in_progress() -> None:
    job = Job()
    job.world(1, 2)
    last = permutation(SIZE, seed=SEED, epoch=0).tolist()[-1]
    change(job.records, 0, ids=[last, job.records[0].ids[1]])
    assert job.audit().is_exact, "without the order, any four different samples would do"
    assert job.audit(with_order=True).lost == 1
    problem(job.audit(with_order=True), f"consumed, though not due, {last}")


def test_padding_before_the_end_of_an_epoch_is_seen(job: Job) -> None:
    change(job.records, 0, ids=[*job.records[0].ids, 1], padding=1)
    problem(job.audit(), "step 1 has 1 repeats although epoch 0 was not at its end")


def test_padding_of_a_whole_world_is_seen() -> None:
    job = Job(size=4)
    job.world(2, 1000, epochs=1)
    for index in (0, 1):
        change(job.records, index, ids=[*job.records[index].ids, 1], padding=1)
    problem(job.audit(), "2 repeats with 2 ranks, but padding must stay below")


def test_more_padding_than_ids_is_seen(job: Job) -> None:
    change(job.records, 0, padding=9)
    problem(job.audit(), "step 1 declares impossible padding")


def test_a_gap_in_the_lineage_is_seen(job: Job) -> None:
    job.commits = [commit for commit in job.commits if commit.world != 1]
    problem(job.audit(), "went on from w000001-s00000003, which is not among the commits")


def test_a_parent_from_the_future_is_seen(job: Job) -> None:
    job.commits[-1] = replace(job.commits[-1], parent=job.commits[-1].key)
    problem(job.audit(), "a parent is older and at no later step")


def test_a_checkpoint_that_stands_in_an_earlier_epoch_than_its_work_is_seen(job: Job) -> None:
    job.commits[-1] = replace(job.commits[-1], epoch=1, cursor=SIZE)
    problem(job.audit(), "stands in epoch 1, but the ranks had already logged samples of epoch 2")


def test_a_job_that_saved_nothing_has_nothing_to_show() -> None:
    problem(audit(SIZE, [], []), "no checkpoint was published")


@given(seed=st.integers(0, 10_000))
def test_any_single_fault_in_the_committed_work_is_seen(seed: int) -> None:
    chance = random.Random(seed)
    job = Job()
    for _ in range(3):
        job.world(chance.randint(1, 4), chance.randint(1, 12), save_every=chance.randint(1, 3))
    job.world(2, 1000)
    counted = [
        index
        for index, record in enumerate(job.records)
        if any((record.world, record.step) == commit.key for commit in job.commits[-3:])
    ]
    index = chance.choice(counted)
    record = job.records[index]
    match chance.choice(["drop", "repeat", "swap", "cursor"]):
        case "drop":
            job.records.pop(index)
        case "repeat":
            job.records.append(record)
        case "swap":
            change(job.records, index, ids=[(record.ids[0] + 1) % SIZE, *record.ids[1:]])
        case "cursor":
            commit = job.commits[-1]
            job.commits[-1] = replace(commit, cursor=commit.cursor - 1)
    assert not job.audit().is_exact


# --- What a job leaves on its volume -------------------------------------------------------------


def line(record: Consumption) -> str:
    return json.dumps({**record.__dict__, "ids": list(record.ids)}) + "\n"


def write_log(folder: Path, records: list[Consumption]) -> None:
    for record in records:
        with (folder / f"w{record.world:06d}-r{record.rank:05d}.jsonl").open("a") as file:
            file.write(line(record))


def test_the_logs_of_the_ranks_are_read_as_written(job: Job, tmp_path: Path) -> None:
    write_log(tmp_path, job.records)
    records = read_sample_log(tmp_path)
    assert sorted(map(repr, records)) == sorted(map(repr, job.records))


def test_a_line_cut_by_a_kill_is_left_out(job: Job, tmp_path: Path) -> None:
    path = tmp_path / "w000001-r00000.jsonl"
    path.write_text(line(job.records[0]) + line(job.records[2])[:20])
    assert len(read_sample_log(tmp_path)) == 1


@pytest.mark.parametrize("text", ["{broken\n", "[1]\n", '{"world": 1}\n', '{"world": 1, "x": 2}\n'])
def test_a_line_that_is_no_record_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "w000001-r00000.jsonl").write_text(text)
    with pytest.raises(ValueError, match=r"w000001-r00000.jsonl:1 is .*one JSON object"):
        read_sample_log(tmp_path)


def test_commits_are_read_from_the_catalogue_and_its_history(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path)
    state = {"weights": torch.zeros(2)}
    parent = None
    for world in (1, 2, 3):
        id = CheckpointId(world, 10 * world)
        catalogue.stage(id, state, epoch=world, cursor=4, parent=parent).publish()
        parent = id
    prune(catalogue, Retention(1))
    (tmp_path / "w000009-s00000001.json").write_text("{broken")
    assert sorted(read_commits(tmp_path), key=lambda commit: commit.key) == [
        Commit(world=1, step=10, epoch=1, cursor=4, parent=None),
        Commit(world=2, step=20, epoch=2, cursor=4, parent=(1, 10)),
        Commit(world=3, step=30, epoch=3, cursor=4, parent=(2, 20)),
    ]


def test_a_commit_that_is_pruned_while_it_is_read_is_found_in_the_history(tmp_path: Path) -> None:
    name = "w000001-s00000005.json"
    (tmp_path / name).symlink_to(tmp_path / "gone")  # listed, but not there any more
    (tmp_path / "history").mkdir()
    document = {"id": name.removesuffix(".json"), "epoch": 0, "cursor": 7, "parent": None}
    (tmp_path / "history" / name).write_text(json.dumps(document))
    assert {commit.cursor for commit in read_commits(tmp_path)} == {7}
