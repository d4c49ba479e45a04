"""Jobs as a busy team has them: each with the record of fifty worlds in its status. Pure."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from spotrain import contract
from spotrain.cli.sizing import Size
from spotrain.cli.submission import Submission, build_job
from spotrain.controller.conditions import holds, set_conditions
from spotrain.controller.status import (
    CREATED,
    RUNNING,
    SUCCEEDED,
    JobStatus,
    OfferStatus,
    Progress,
    ReplicaStatus,
    Restarts,
    WorldStatus,
)
from spotrain.kinds import Object
from spotrain.ledger.account import Account, PlaceTotal, Totals
from spotrain.ledger.entries import Members, Place, StayEntry, WorldEntry
from spotrain.ledger.time_split import LostSeconds

WORLDS: Final = 50
"""As many as a status keeps, and as many pods that have ended."""
WORKERS: Final = 4
WORLD_SECONDS: Final = 1800
BEGAN: Final = datetime(2026, 11, 1, 9, 0, 0, 125000, tzinfo=UTC)
PLACE: Final = Place(
    pool="t4-spot", zone="us-east-1a", capacity="spot", instance_type="g4dn.xlarge"
)


def jobs(count: int, namespace: str) -> Iterator[tuple[Object, Object]]:
    """(document, status) of each; a fifth of them has ended."""
    for number in range(count):
        name = f"resnet-lr-{number:03}"
        yield _document(name, namespace), status(name, has_ended=number % 5 == 0)


def _document(name: str, namespace: str) -> Object:
    return build_job(
        Submission(
            name=name,
            namespace=namespace,
            researcher="ada",
            gpu="t4",
            size=Size(workers=WORKERS, min_workers=2, gpus_per_worker=1),
            image="example/training@sha256:" + "1" * 64,
            is_platform_image=True,
            arguments=("imagenet.py", "--arch", "resnet50", "--lr", "0.1", "/mnt/efs/data"),
            environment={"NCCL_DEBUG": "WARN"},
        )
    )


def status(name: str, *, has_ended: bool) -> Object:
    """As the controller writes it, with as many worlds and pods as it keeps."""
    worlds = [_world(number) for number in range(1, WORLDS + 1)]
    if not has_ended:
        worlds[-1] = replace(worlds[-1], ended_at=None, reason="", message="", pause_seconds=None)
    stays = [_stay(name, index, ended=True) for index in range(WORLDS)]
    stays += [] if has_ended else [_stay(name, index, ended=False) for index in range(WORKERS)]
    now = _moment(WORLDS)
    told = JobStatus(
        observed_generation=1,
        start_time=BEGAN,
        completion_time=now if has_ended else None,
        replica_statuses={
            contract.WORKER: ReplicaStatus(succeeded=WORKERS)
            if has_ended
            else ReplicaStatus(active=WORKERS, ready=WORKERS)
        },
        selector=f"{contract.LABEL_JOB}={name}",
        offer=OfferStatus(PLACE.pool, PLACE.zone, BEGAN),
        world=WorldStatus(
            number=WORLDS,
            size=WORKERS,
            since=_moment(WORLDS - 1),
            step=250 * (WORLDS - 1),
            steps_per_second=None if has_ended else 0.138874,
        ),
        recorded_world=WORLDS,
        progress=Progress(250 * WORLDS, now, {"loss": 0.321, "accuracy": 0.912}),
        restarts=Restarts(disruptions=WORLDS // 2, growths=WORLDS // 2),
        history=tuple(worlds),
        ledger=_account(stays, now),
    )
    conditions = [
        holds(CREATED, "ElasticJobCreated", "the job was seen."),
        holds(RUNNING, "ElasticJobRunning", f"{WORKERS} of {WORKERS} workers are ready."),
    ]
    if has_ended:
        done = f"world {WORLDS} finished the training at step {250 * WORLDS}."
        conditions.append(holds(SUCCEEDED, "ElasticJobSucceeded", done))
    return set_conditions(told, *conditions, generation=1, now=now).to_document()


def _moment(world: int) -> datetime:
    """When that many worlds have ended."""
    return BEGAN + timedelta(seconds=world * WORLD_SECONDS)


def _world(number: int) -> WorldEntry:
    published = _moment(number - 1)
    return WorldEntry(
        number=number,
        size=WORKERS - number % 2,
        members=(Members(place=PLACE, workers=WORKERS - number % 2),),
        published_at=published,
        first_step_at=published + timedelta(seconds=7),
        last_step_at=_moment(number),
        restored_step=250 * (number - 1),
        last_step=250 * number,
        committed_step=250 * number,
        samples_per_step=256,
        ended_at=_moment(number),
        reason="notice" if number % 2 else "growth",
        message="resnet-worker-1 was told to leave by its node",
        pause_seconds=0.12,
        steps_lost=0,
        save_stall_seconds=3.25,
        data_wait_seconds=11.5,
    )


def _stay(name: str, index: int, *, ended: bool) -> StayEntry:
    created = _moment(index) if ended else _moment(WORLDS - 1)
    return StayEntry(
        pod=f"{name}-worker-{index % WORKERS}",
        uid=f"3f0c8a52-7d1e-4a66-9b1f-{index + 100 * (not ended):012d}",
        gpus=1,
        created_at=created,
        scheduled_at=created + timedelta(seconds=140),
        started_at=created + timedelta(seconds=170),
        ended_at=created + timedelta(seconds=4 * WORLD_SECONDS) if ended else None,
        reason="Disrupted" if ended else "",
        node=f"ip-10-0-{index}-17.ec2.internal",
        node_gpus=1,
        node_created_at=created + timedelta(seconds=60),
        place=PLACE,
    )


def _account(stays: list[StayEntry], now: datetime) -> Account:
    wanted = float(WORLDS * WORLD_SECONDS)
    lost = LostSeconds(waiting_for_nodes=310.0, forming=420.5, save_stall=160.0, data_wait=575.0)
    node_seconds = WORKERS * wanted
    totals = Totals(
        until=now,
        through=WORLDS - 1,
        wanted_seconds=wanted,
        useful_seconds=wanted - lost.total,
        lost_seconds=lost,
        places=(
            PlaceTotal(
                place=PLACE,
                node_seconds=node_seconds,
                gpu_seconds=node_seconds,
                estimated_usd=node_seconds / 3600 * 0.184,
                list_usd=node_seconds / 3600 * 0.526,
            ),
        ),
        estimated_usd=node_seconds / 3600 * 0.184,
        list_usd=node_seconds / 3600 * 0.526,
    )
    return Account(since=BEGAN, stays=tuple(stays), totals=totals)
