"""Mirrors: what is listed and watched, and what happens when that breaks."""

from typing import Any

import httpx2
import pytest

from spotrain.controller.kube import Gone, KubeError
from spotrain.controller.mirror import Mirror, backoff
from spotrain.kinds import PODS
from tests.controller.kube_fake import Enough, ScriptedKube


def item(name: str, value: int, version: int) -> dict[str, Any]:
    metadata = {"namespace": "jobs", "name": name, "resourceVersion": str(version)}
    return {"metadata": metadata, "value": value}


class Followed:
    """A mirror of values, and all changes that it has told."""

    def __init__(self, lists: list[Any], watches: list[Any]) -> None:
        self.kube = ScriptedKube({"list": lists, "watch": [*watches, [Enough()]]})
        self.changes: list[tuple[str, int | None, int | None]] = []
        self.mirror = Mirror[int](
            kind=PODS,
            parse=lambda document: document["value"],
            changed=lambda name, old, new: self.changes.append((name[1], old, new)),
        )

    async def run(self) -> None:
        kube: Any = self.kube
        with pytest.raises(Enough):
            await self.mirror.follow(kube)

    @property
    def watched_from(self) -> list[str]:
        return [version for (version,) in self.kube.of("watch")]


async def test_every_difference_is_told_once() -> None:
    followed = Followed(
        [([item("a", 1, 1)], "5")],
        [
            [
                ("MODIFIED", item("a", 1, 6)),
                ("ADDED", item("b", 2, 7)),
                ("MODIFIED", item("b", 3, 8)),
                ("DELETED", item("a", 1, 9)),
            ]
        ],
    )
    await followed.run()
    assert followed.changes == [("a", None, 1), ("b", None, 2), ("b", 2, 3), ("a", 1, None)]
    assert followed.mirror.items == {("jobs", "b"): 3}


async def test_a_watch_that_ends_goes_on_from_the_last_version_bookmarks_included() -> None:
    bookmark = {"metadata": {"resourceVersion": "20"}}
    followed = Followed([([], "5")], [[("ADDED", item("a", 1, 9))], [("BOOKMARK", bookmark)]])
    await followed.run()
    assert followed.watched_from == ["5", "9", "20"]
    assert len(followed.kube.of("list")) == 1


async def test_a_version_that_is_too_old_lists_anew_and_finds_what_was_missed() -> None:
    followed = Followed(
        [([item("a", 1, 1), item("b", 1, 2)], "5"), ([item("b", 2, 30)], "31")],
        [[Gone(410, "too old")]],
    )
    await followed.run()
    assert followed.watched_from == ["5", "31"]
    assert followed.changes[2:] == [("a", 1, None), ("b", 1, 2)]


@pytest.mark.parametrize(
    "fault", [httpx2.ReadError("broken"), KubeError(500, "etcd is away"), OSError("no route")]
)
async def test_a_broken_watch_is_taken_up_again_without_a_list(fault: Exception) -> None:
    followed = Followed([([], "5")], [[("ADDED", item("a", 1, 9)), fault]])
    await followed.run()
    assert followed.watched_from == ["5", "9"]


async def test_a_list_that_fails_is_asked_for_again() -> None:
    followed = Followed([KubeError(503, "starting"), ([item("a", 1, 1)], "5")], [])
    await followed.run()
    assert followed.mirror.synced.is_set()
    assert followed.mirror.items == {("jobs", "a"): 1}


async def test_an_object_that_nobody_can_read_harms_no_other() -> None:
    spoilt = {"metadata": {"namespace": "jobs", "name": "a", "resourceVersion": "6"}}
    followed = Followed(
        [([item("a", 1, 1)], "5")], [[("MODIFIED", spoilt), ("ADDED", item("b", 2, 7))]]
    )
    await followed.run()
    assert followed.mirror.items == {("jobs", "a"): 1, ("jobs", "b"): 2}


def test_pauses_grow_to_a_limit() -> None:
    pauses = backoff()
    first = [next(pauses) for _ in range(3)]
    assert 0.07 < first[0] < 0.13
    assert first[0] < first[1] < first[2]
    later = [next(pauses) for _ in range(20)]
    assert max(later) <= 30 * 1.25
