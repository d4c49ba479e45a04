"""Stories of jobs for the report's tests: rich, long, tiny, empty, hostile."""

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from spotrain.archive.records import CheckpointRecord, JobRecord
from spotrain.cli.report_page.story import Story
from spotrain.job import Pool
from spotrain.ledger.attribution import Tenant, attribute
from spotrain.ledger.cost import bill
from spotrain.ledger.entries import (
    GapEntry,
    Members,
    MetricsEntry,
    NodeEntry,
    PauseEntry,
    Place,
    StayEntry,
    WorldEntry,
)
from spotrain.ledger.job_cost import Record, job_cost
from spotrain.ledger.prices import PriceBook, Quote
from spotrain.ledger.suspensions import tell_suspensions
from spotrain.ledger.time_split import Span

BEGIN = datetime(2026, 8, 1, 9, 12, tzinfo=UTC)
EAST = Place(pool="t4-spot", zone="us-east-1a", capacity="spot", instance_type="g4dn.xlarge")
WEST = replace(EAST, zone="us-east-1b")
DEMAND = replace(EAST, pool="t4-spot-on-demand", capacity="on-demand")
SPOT = Pool(
    name="t4-spot",
    gpu="t4",
    gpus_per_node=1,
    zones=("us-east-1a", "us-east-1b"),
    capacity="spot",
    max_nodes=16,
    notice_seconds=90,
    instance_types=("g4dn.xlarge",),
    on_demand_usd_per_hour=0.526,
    spot_usd_per_hour=0.184,
)
POOLS = [SPOT, SPOT.model_copy(update={"name": DEMAND.pool, "capacity": DEMAND.capacity})]


def at(minutes: float) -> datetime:
    return BEGIN + timedelta(minutes=minutes)


class Life:
    """A job's life told world by world; pods and nodes follow from the worlds."""

    def __init__(self, *, rate: float = 4.0, samples: int = 256) -> None:
        self.worlds: list[WorldEntry] = []
        self.stays: list[StayEntry] = []
        self.nodes: list[NodeEntry] = []
        self.pauses: list[PauseEntry] = []
        self.minute = 4.0
        self.step = 0
        self._rate, self._samples = rate, samples

    def world(
        self,
        workers: Sequence[tuple[Place, int]],
        *,
        minutes: float,
        reason: str = "",
        lost: int = 0,
        pause: float = 0.15,
        message: str = "",
    ) -> None:
        """It trains for `minutes` and loses its last `lost` steps; without a reason it goes on."""
        size = sum(count for _, count in workers)
        restored = self.step
        last = restored + int(minutes * 60 * self._rate * size**-0.05)
        begin, first = at(self.minute), at(self.minute + pause / 60)
        end = at(self.minute + minutes)
        self.step = last - lost
        self.worlds.append(
            WorldEntry(
                number=len(self.worlds) + 1,
                size=size,
                members=tuple(Members(place=place, workers=count) for place, count in workers),
                published_at=begin,
                first_step_at=first,
                last_step_at=end - timedelta(seconds=1),
                restored_step=restored,
                last_step=last,
                committed_step=last - lost,
                samples_per_step=self._samples * size,
                ended_at=end if reason else None,
                reason=reason,
                message=message,
                pause_seconds=pause if reason and reason != "finished" else None,
                steps_lost=lost if reason and reason != "finished" else None,
                save_stall_seconds=minutes * 0.4,
                data_wait_seconds=minutes * 0.7,
            )
        )
        self._pods(workers, begin, end)
        self.minute += minutes

    def _pods(self, workers: Sequence[tuple[Place, int]], begin: datetime, end: datetime) -> None:
        number = len(self.worlds)
        for place, count in workers:
            for index in range(count):
                name = f"node-{number}-{place.zone}-{place.capacity}-{index}"
                boot = begin - timedelta(seconds=20)
                self.nodes.append(
                    NodeEntry(
                        name=name, uid=name, place=place, gpus=1, created_at=boot, gone_at=end
                    )
                )
                self.stays.append(
                    StayEntry(
                        pod=f"worker-{index}",
                        uid=f"{number}-{place.zone}-{place.capacity}-{index}",
                        gpus=1,
                        created_at=BEGIN,
                        scheduled_at=begin - timedelta(seconds=10),
                        started_at=begin - timedelta(seconds=5),
                        ended_at=end,
                        node=name,
                        node_gpus=1,
                        node_created_at=boot,
                        place=place,
                    )
                )

    def told(self, *, outcome: str = "succeeded", name: str = "resnet50-lr3", **more: Any) -> Story:
        end = at(self.minute)
        record = Record(
            worlds=tell_suspensions(self.worlds, self.pauses),
            stays=self.stays,
            pauses=self.pauses,
            life=Span(BEGIN, end),
            min_workers=2,
        )
        job = JobRecord(
            name=name,
            uid="5f0c1a52-8f0e-4f5e-9a51-0c63a1d0b7aa",
            created_at=BEGIN,
            ended_at=end if outcome else None,
            outcome=outcome,
            researcher="ada",
        )
        quotes = [
            Quote(instance_type="g4dn.xlarge", zone="us-east-1a", usd_per_hour=price, since=at(m))
            for m, price in ((-60, 0.158), (70, 0.171))
        ]
        book = PriceBook(POOLS, quotes=quotes)
        tenant = Tenant(job=job.uid, created_at=BEGIN, stays=self.stays)
        lines = bill(attribute(self.nodes, [tenant], now=end), book)
        own = [line for line in lines if line.job == job.uid]
        story = Story(job=job, record=record, cost=job_cost(own, record, book), made_at=end)
        return replace(story, **more)

    def metrics(self, points: int) -> list[MetricsEntry]:
        """A loss that falls, with noise, and an accuracy."""
        dice = random.Random(7)
        found = []
        for index in range(points):
            step = int(self.step * (index + 1) / points)
            done = step / self.step
            values = {
                "loss": 0.4 + 6.2 * math.exp(-4 * done) + dice.gauss(0, 0.06),
                "accuracy": 0.76 * (1 - math.exp(-5 * done)) + dice.gauss(0, 0.004),
            }
            when = at(4 + (self.minute - 4) * (index + 1) / points)
            found.append(MetricsEntry(at=when, step=step, values=values))
        return found

    def checkpoints(self, count: int = 3) -> list[CheckpointRecord]:
        return [
            CheckpointRecord(
                id=f"w{world.number:06d}-s{world.committed_step:08d}",
                world=world.number,
                step=world.committed_step or 0,
                epoch=world.number,
                created_at=world.ended_at or at(self.minute),
                size_bytes=204_800_000 + world.number,
                intact=True if world.number % 2 else None,
            )
            for world in self.worlds[::-1][:count]
        ]


FACTS = {
    "workers": "8, between 2 and 8",
    "GPU": "1 x T4 for each worker",
    "image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/spotrain/dev/training@sha256:"
    + "3b1f" * 16,
    "runs": "imagenet.py --arch resnet50 --epochs 90 --batch-size 32 --lr 0.1",
}


def rich() -> Story:
    life = Life()
    life.world([(EAST, 8)], minutes=31, reason="notice", pause=0.14)
    life.world([(EAST, 6)], minutes=12, reason="growth", pause=0.12)
    life.world(
        [(EAST, 8)],
        minutes=44,
        reason="loss",
        lost=212,
        pause=8.4,
        message="resnet50-lr3-worker-3: no pong for 10 s",
    )
    life.world([(EAST, 5)], minutes=9, reason="notice", pause=0.2)
    life.pauses.append(PauseEntry(since=at(life.minute), until=at(life.minute + 18)))
    life.minute += 24
    life.world([(WEST, 6), (DEMAND, 2)], minutes=26, reason="failure", lost=40, pause=21)
    life.minute += 7
    life.world([(WEST, 8)], minutes=38, reason="finished")
    gap = GapEntry(
        of="stay", since=at(96), until=at(99), message="the ends of 2 pods were not seen."
    )
    return life.told(
        facts=FACTS, metrics=life.metrics(180), checkpoints=life.checkpoints(), gaps=[gap]
    )


def long() -> Story:
    """200 worlds in some days."""
    dice = random.Random(3)
    life = Life()
    for _ in range(199):
        size = dice.choice((2, 4, 8, 12, 16))
        place = dice.choice((EAST, EAST, EAST, WEST, DEMAND))
        reason = dice.choice(("notice", "notice", "growth", "loss", "limits", "stall"))
        lost = dice.randrange(300) if reason in ("loss", "stall") else 0
        life.world(
            [(place, size)],
            minutes=dice.uniform(2, 60),
            reason=reason,
            lost=lost,
            pause=dice.uniform(0.1, 4),
        )
        life.minute += dice.choice((0, 0, 0, 3))
    life.world([(EAST, 16)], minutes=60)
    return life.told(
        outcome="", facts=FACTS, metrics=life.metrics(500), checkpoints=life.checkpoints(60)
    )


def tiny() -> Story:
    """One world of half a minute, without prices or checkpoints."""
    life = Life()
    life.minute = 0.2
    nowhere = Place(pool="this-machine", zone="local", capacity="on-demand")
    life.world([(nowhere, 1)], minutes=0.5, reason="finished")
    return life.told(name="digits")


def empty() -> Story:
    life = Life()
    return life.told(outcome="", name="waits")


STORIES = {"rich": rich, "long": long, "tiny": tiny, "empty": empty}


def hostile(text: str) -> Story:
    """Every text of it is `text`."""
    place = Place(pool=text, zone=text, capacity=text, instance_type=text)
    life = Life()
    life.world([(place, 2)], minutes=5, reason="loss", lost=3, message=text)
    life.world([(place, 2)], minutes=5, reason=text, message=text)
    life.pauses.append(PauseEntry(since=at(12), until=at(13)))
    story = life.told()
    bad = CheckpointRecord(id=text, world=1, step=2, problem=text, created_at=at(7))
    return replace(
        story,
        job=replace(story.job, name=text, uid=text, researcher=text, outcome=text),
        facts={text: text},
        gaps=[GapEntry(of=text, since=at(1), until=at(2), message=text)],
        metrics=[
            MetricsEntry(at=at(n), step=n, values={text: float(n), "loss": math.nan})
            for n in range(1, 4)
        ],
        checkpoints=[bad],
        remarks=[text],
    )
