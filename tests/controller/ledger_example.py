"""A ledger in which nothing is left out."""

from datetime import UTC, datetime

from spotrain.ledger.account import Account, PlaceSeconds, PlaceTotal, Settled, Totals
from spotrain.ledger.entries import BackOffEntry, Members, PauseEntry, Place, StayEntry, WorldEntry

AT = datetime(2026, 1, 1, 12, 0, 0, 125000, tzinfo=UTC)
PLACE = Place(pool="t4-spot", zone="a", capacity="spot", instance_type="g4dn.xlarge")
WORLD = WorldEntry(
    number=1,
    size=2,
    members=(Members(place=PLACE, workers=2),),
    published_at=AT,
    first_step_at=AT,
    last_step_at=AT,
    restored_step=0,
    last_step=20,
    committed_step=10,
    samples_per_step=64,
    ended_at=AT,
    reason="loss",
    message="digits-worker-1 is gone",
    pause_seconds=1.5,
    steps_lost=10,
    save_stall_seconds=0.5,
    data_wait_seconds=0.25,
)
STAY = StayEntry(
    pod="digits-worker-1",
    uid="uid-1",
    gpus=1,
    created_at=AT,
    scheduled_at=AT,
    started_at=AT,
    ended_at=AT,
    reason="Deleted",
    node="node-1",
    node_gpus=4,
    node_created_at=AT,
    place=PLACE,
    read_bytes=3_000_000,
    written_bytes=1_000_000,
)
SUMS = Totals(until=AT, through=1, traffic_usd=0.25, places=(PlaceTotal(place=PLACE),))
ACCOUNT = Account(
    since=AT,
    stays=(STAY,),
    pauses=(PauseEntry(since=AT, until=AT),),
    back_offs=(BackOffEntry(since=AT, until=AT),),
    totals=SUMS,
    settled=Settled(until=AT, places_until=AT, places=(PlaceSeconds(place=PLACE),)),
)
