"""What a job learns of the others, and when it is told to look again."""

from dataclasses import replace
from typing import Any

import pytest

from spotrain.controller.board import ScaleUp
from spotrain.controller.model import PodView
from spotrain.controller.observe import SeenJob, SeenPod, view_job
from spotrain.controller.scale_ups import view_scale_up
from spotrain.controller.status import JobStatus, OfferStatus
from spotrain.controller.survey import Survey
from tests.controller.builders import NOW, document, pod

PLACED = {"placement": {"gpu": "t4"}, "minReplicas": 2}


def seen_job(name: str, place: str = "t4-spot/a", **changes: Any) -> SeenJob:
    given = document(**{**PLACED, **changes})
    given["metadata"] |= {"name": name, "uid": f"uid-of-{name}", "resourceVersion": "1"}
    view = view_job(given)
    assert view
    pool, _, zone = place.partition("/")
    offer = OfferStatus(pool, zone) if place else None
    return replace(view, status=JobStatus(offer=offer))


def seen_pod(name: str, index: int, **changes: Any) -> SeenPod:
    view: PodView = pod(index, **{"uid": f"{name}-{index}", "name": f"{name}-{index}", **changes})
    return SeenPod("jobs", f"uid-of-{name}", name, view)


def word(uid: str, reason: str, message: str = "", at: str = "2026-01-01T12:00:00Z") -> Any:
    return view_scale_up(
        {
            "involvedObject": {"uid": uid},
            "reason": reason,
            "message": message,
            "lastTimestamp": at,
        }
    )


def test_each_job_sees_the_claims_of_the_others_and_not_its_own() -> None:
    survey = Survey(lambda _name: None)
    survey.put_job(None, seen_job("one"))
    survey.put_job(None, seen_job("two"))
    survey.put_pod(None, seen_pod("two", 0))
    survey.put_pod(None, seen_pod("two", 1, node=None, phase="Pending"))
    (claim,) = survey.board(seen_job("one"), prices=()).claims
    assert (claim.place, claim.least, claim.housed, claim.held) == ("t4-spot/a", 2, 1, 2)
    survey.put_pod(seen_pod("two", 1), None)
    (claim,) = survey.board(seen_job("one"), prices=()).claims
    assert claim.held == 1
    survey.put_job(seen_job("two"), None)
    assert survey.board(seen_job("one"), prices=()).claims == ()


def test_a_place_that_was_just_decided_is_claimed_before_it_is_on_record() -> None:
    survey = Survey(lambda _name: None)
    new = seen_job("new", place="")
    survey.put_job(None, new)
    survey.expect(new, seen_job("new", place="t4-spot/a").status)
    (claim,) = survey.board(seen_job("one"), prices=()).claims
    assert (claim.place, claim.least) == ("t4-spot/a", 2)
    survey.put_job(new, seen_job("new", place="t4-spot/b"))
    (claim,) = survey.board(seen_job("one"), prices=()).claims
    assert claim.place == "t4-spot/b"


def test_a_job_without_a_place_claims_nothing_unless_researchers_have_a_limit() -> None:
    for limit, expected in ((None, 0), (8, 1)):
        survey = Survey(lambda _name: None, limit)
        survey.put_job(None, seen_job("free", "", placement={}))
        board = survey.board(seen_job("one"), prices=())
        assert (len(board.claims), board.max_gpus) == (expected, limit)


def test_a_change_wakes_those_that_wait_or_grow_in_that_place_and_nobody_else() -> None:
    told: list[str] = []
    survey = Survey(lambda name: told.append(name[1]))
    for name, place in (("waits", "t4-spot/a"), ("full", "t4-spot/a"), ("else", "t4-spot/b")):
        survey.put_job(None, seen_job(name, place))
    for index in range(3):
        survey.put_pod(None, seen_pod("full", index))
    survey.put_job(None, seen_job("new"))
    told.clear()
    survey.put_pod(None, seen_pod("new", 0))
    assert told == ["waits"]
    told.clear()
    survey.put_pod(seen_pod("new", 0), seen_pod("new", 0, ready=False))
    assert told == [], "nothing that others care for has changed"


def test_a_node_that_comes_wakes_who_waits_for_one_there() -> None:
    told: list[str] = []
    survey = Survey(lambda name: told.append(name[1]))
    for name, place in (("here", "t4-spot/a"), ("any", "t4-spot/"), ("else", "t4-spot/b")):
        survey.put_job(None, seen_job(name, place))
    told.clear()
    survey.place_changed("t4-spot", "a")
    assert told == ["here", "any"]


def test_the_last_word_on_a_pod_counts_and_a_forgotten_one_does_not() -> None:
    told: list[str] = []
    survey, this = Survey(lambda name: told.append(name[1])), seen_job("one")
    survey.put_job(None, this)
    survey.put_pod(None, seen_pod("one", 0, node=None, phase="Pending"))
    failed = word("one-0", "NotTriggerScaleUp", "1 in backoff after failed scale-up")
    ordered = word("one-0", "TriggeredScaleUp", at="2026-01-01T12:00:09Z")
    survey.put_word(("jobs", "e1"), None, failed)
    assert told == ["one"]
    assert survey.board(this, prices=()).scale_ups["one-0"].kind == "failed"
    survey.put_word(("jobs", "e2"), None, ordered)
    assert survey.board(this, prices=()).scale_ups["one-0"].kind == "ordered"
    survey.put_word(("jobs", "e2"), ordered, None)
    assert survey.board(this, prices=()).scale_ups["one-0"].kind == "failed"
    survey.put_word(("jobs", "e1"), failed, None)
    assert survey.board(this, prices=()).scale_ups == {}


@pytest.mark.parametrize(
    ("reason", "message", "kind"),
    [
        pytest.param("TriggeredScaleUp", "pod triggered scale-up: [{g 0->1}]", "ordered", id="ok"),
        pytest.param("FailedScaleUp", "GCE out of resources", "failed", id="gke"),
        pytest.param(
            "NotTriggerScaleUp",
            "pod didn't trigger scale-up: 1 in backoff after failed scale-up, 4 node(s) didn't "
            "match Pod's node affinity/selector",
            "failed",
            id="backoff",
        ),
        pytest.param(
            "NotTriggerScaleUp",
            "pod didn't trigger scale-up: 1 max node group size reached, 4 node(s) didn't match "
            "Pod's node affinity/selector",
            "full",
            id="group-at-its-limit",
        ),
        pytest.param(
            "NotTriggerScaleUp", "1 max cluster cpu, memory limit reached", "full", id="limits"
        ),
        pytest.param("NotTriggerScaleUp", "1 Insufficient memory", "failed", id="never-fits"),
    ],
)
def test_the_autoscalers_words_are_read(reason: str, message: str, kind: str) -> None:
    assert word("u", reason, message) == ("u", ScaleUp(kind, message, NOW))  # type: ignore[arg-type]


def test_other_events_and_broken_ones_say_nothing() -> None:
    assert word("u", "ScaleDown", "deleting pod for node scale down") is None
    assert word("", "FailedScaleUp") is None
    assert view_scale_up({"reason": "FailedScaleUp", "involvedObject": {"uid": "u"}}) is None


def test_the_time_of_an_event_of_the_newer_kind_is_found_too() -> None:
    said = view_scale_up(
        {
            "involvedObject": {"uid": "u"},
            "reason": "FailedScaleUp",
            "lastTimestamp": None,
            "eventTime": "2026-01-01T11:00:00.000000Z",
            "series": {"lastObservedTime": "2026-01-01T12:00:00.000000Z"},
        }
    )
    assert said == ("u", ScaleUp("failed", "", NOW))
