"""Short builders of what a job's object tells."""

from datetime import UTC, datetime, timedelta
from typing import Any

from spotrain import contract
from spotrain.archive.news import Snapshot, read_job
from spotrain.ledger.entries import StayEntry, WorldEntry, to_document

BEGIN = datetime(2026, 8, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def world(number: int, *, ended: bool = True, **fields: Any) -> WorldEntry:
    begin = 100.0 * number
    told: dict[str, Any] = {"size": 2, "published_at": at(begin)}
    if ended:
        told |= {"ended_at": at(begin + 90), "reason": "loss"}
    return WorldEntry(number=number, **{**told, **fields})


def stay(number: int, *, ended: bool = True, **fields: Any) -> StayEntry:
    begin = 100.0 * number
    told: dict[str, Any] = {"gpus": 1, "created_at": at(begin), "pod": f"digits-worker-{number}"}
    if ended:
        told |= {"ended_at": at(begin + 80), "reason": "disruption"}
    return StayEntry(uid=f"pod-{number}", **{**told, **fields})


def job_object(
    *entries: WorldEntry | StayEntry, name: str = "digits", uid: str = "u1", condition: str = ""
) -> dict[str, Any]:
    """An ElasticJob as the API server has it."""
    status: dict[str, Any] = {
        "history": [to_document(one) for one in entries if isinstance(one, WorldEntry)],
        "ledger": {"stays": [to_document(one) for one in entries if isinstance(one, StayEntry)]},
    }
    if condition:
        status["conditions"] = [
            {"type": condition, "status": "True", "lastTransitionTime": "2026-08-01T14:00:00Z"}
        ]
    return {
        "metadata": {
            "name": name,
            "uid": uid,
            "creationTimestamp": "2026-08-01T11:59:00Z",
            "labels": {contract.LABEL_RESEARCHER: "ada"},
        },
        "status": status,
    }


def snapshot(*entries: WorldEntry | StayEntry, **fields: Any) -> Snapshot:
    return read_job(job_object(*entries, **fields))
