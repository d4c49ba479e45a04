"""Who is let in as which pod, and which world numbers may be published."""

from typing import Any

import httpx2
import pytest

from spotrain.controller.bearer import POD_NAME, POD_UID, bearer_of
from spotrain.controller.kube import Conflict, KubeError, NotFound
from spotrain.controller.observe import SeenJob, SeenPod, view_job
from spotrain.controller.recorder import Recorder
from spotrain.controller.tokens import Doorkeeper
from spotrain.coordinator.protocol import Hello
from tests.controller.builders import document, pod
from tests.controller.kube_fake import ScriptedKube

JOB = "jobs/digits/job-uid"
HELLO = Hello(version=1, job=JOB, pod="digits-worker-0", address="10.0.0.1", ranks=1)
TOKEN = "secret.of.the-pod"
SEEN = SeenPod("jobs", "job-uid", "digits", pod(0))


def review(**changes: Any) -> dict[str, Any]:
    """A TokenReview's status, as the API server answers for the token of pod 0."""
    extra = {POD_NAME: ["digits-worker-0"], POD_UID: ["uid-0"]}
    user = {"username": "system:serviceaccount:jobs:default", "extra": extra}
    return {"authenticated": True, "audiences": ["spotrain"], "user": user, **changes}


def user(extra: Any, name: str = "system:serviceaccount:jobs:default") -> dict[str, Any]:
    return {"username": name, "extra": extra}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"authenticated": False}, id="not valid"),
        pytest.param({"audiences": ["another"]}, id="for another audience"),
        pytest.param({"audiences": []}, id="for no audience"),
        pytest.param({"user": user({})}, id="bound to no pod"),
        pytest.param({"user": user({POD_NAME: ["a"]})}, id="without the pod's uid"),
        pytest.param(
            {"user": user({POD_NAME: ["a"], POD_UID: ["b"]}, "admin")}, id="no service account"
        ),
    ],
)
def test_a_token_that_names_no_pod_for_us_has_no_bearer(changes: dict[str, Any]) -> None:
    assert bearer_of(review(**changes)) is None
    assert bearer_of(review()) is not None


def doorkeeper(answers: dict[str, list[Any]], seen: SeenPod | None = SEEN) -> Doorkeeper:
    kube: Any = ScriptedKube(answers)
    return Doorkeeper(kube, lambda _namespace, _name: seen)


async def test_the_pods_own_token_is_accepted_and_its_uid_remembered() -> None:
    door = doorkeeper({"create": [{"status": review()}]})
    assert await door.authorize(TOKEN, HELLO) == ""
    assert door.admitted(JOB, "digits-worker-0") == "uid-0"
    door.forget(JOB)
    assert door.admitted(JOB, "digits-worker-0") == ""


@pytest.mark.parametrize(
    ("hello", "reason"),
    [
        pytest.param({"pod": "digits-worker-1"}, "is not that of pod", id="another pod"),
        pytest.param({"job": "others/digits/job-uid"}, "is not that of pod", id="elsewhere"),
        pytest.param({"job": "jobs/digits/new-uid"}, "is no worker of job", id="a namesake"),
    ],
)
async def test_a_token_speaks_for_its_own_pod_of_its_own_job_only(
    hello: dict[str, str], reason: str
) -> None:
    door = doorkeeper({"create": [{"status": review()}]})
    said = Hello(**{**HELLO.__dict__, **hello})
    refusal = await door.authorize(TOKEN, said)
    assert reason in refusal
    assert TOKEN not in refusal
    assert door.admitted(said.job, said.pod) == ""


@pytest.mark.parametrize("token", ["", "x" * 20_000])
async def test_what_cannot_be_a_token_is_refused_without_asking(token: str) -> None:
    assert "is not one of a pod" in await doorkeeper({}).authorize(token, HELLO)


async def test_a_pod_that_was_not_seen_yet_is_asked_for() -> None:
    owner = {"apiVersion": "elastic.pytorch.org/v1alpha1", "kind": "ElasticJob", "name": "digits"}
    found = {
        "metadata": {
            "name": "digits-worker-0",
            "namespace": "jobs",
            "uid": "uid-0",
            "creationTimestamp": "2026-01-01T08:00:00Z",
            "labels": {"replica-index": "0"},
            "ownerReferences": [{**owner, "controller": True, "uid": "job-uid"}],
        },
        "spec": {"containers": [{"name": "elasticjob-worker"}]},
    }
    door = doorkeeper({"create": [{"status": review()}], "get": [found]}, seen=None)
    assert await door.authorize(TOKEN, HELLO) == ""
    door = doorkeeper({"create": [{"status": review()}], "get": [NotFound(404, "")]}, seen=None)
    assert "is no worker of job" in await door.authorize(TOKEN, HELLO)


@pytest.mark.parametrize("fault", [KubeError(500, TOKEN), httpx2.ConnectError(TOKEN)])
async def test_an_agent_comes_again_where_the_api_server_cannot_be_asked(
    fault: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """A refusal would end it, and the fault is not its own."""
    with pytest.raises(TimeoutError) as raised:
        await doorkeeper({"create": [fault]}).authorize(TOKEN, HELLO)
    assert TOKEN not in str(raised.value) + caplog.text


# --- World numbers ---


def job(number: int, version: str = "1", **metadata: Any) -> dict[str, Any]:
    given = document()
    given["metadata"] |= {"resourceVersion": version, **metadata}
    world = {"number": number, "size": 2, "since": "2026-01-01T11:00:00Z", "step": 5}
    return {**given, "status": {"world": world}}


class Recording:
    def __init__(self, seen: dict[str, Any] | None, **answers: list[Any]) -> None:
        self.kube = ScriptedKube(answers)
        self.taken: list[Any] = []
        self.raised: list[tuple[str, int]] = []
        kube: Any = self.kube
        self.recorder = Recorder(
            kube,
            find=lambda _key: _seen(seen),
            took=self.taken.append,
            raised=lambda key, number: self.raised.append((key, number)),
        )

    @property
    def written(self) -> list[tuple[str, int]]:
        return [
            (body["metadata"]["resourceVersion"], body["status"]["recordedWorld"])
            for _, body in self.kube.of("patch")
        ]


def _seen(given: dict[str, Any] | None) -> SeenJob | None:
    return view_job(given) if given else None


async def test_a_number_is_written_to_the_job_as_it_was_seen() -> None:
    recording = Recording(job(3), patch=[job(4, "2")])
    await recording.recorder.record(JOB, 4)
    assert recording.written == [("1", 4)]
    assert recording.kube.of("patch")[0][0] == "elasticjobs/status"
    assert recording.taken == [job(4, "2")]


async def test_a_job_that_has_changed_is_read_again_before_the_next_try() -> None:
    recording = Recording(job(3), patch=[Conflict(409, ""), job(4, "8")], get=[job(3, "7")])
    await recording.recorder.record(JOB, 4)
    assert recording.written == [("1", 4), ("7", 4)]


async def test_a_number_that_another_has_stored_is_not_ours_to_publish() -> None:
    recording = Recording(job(3), patch=[Conflict(409, "")], get=[job(5, "7")])
    await recording.recorder.record(JOB, 4)
    assert recording.raised == [(JOB, 5)]
    assert recording.taken == []


async def test_a_number_whose_answer_was_lost_is_ours_when_it_is_found() -> None:
    recording = Recording(job(3), patch=[httpx2.ReadTimeout("")], get=[job(4, "7")])
    await recording.recorder.record(JOB, 4)
    assert recording.raised == []
    assert recording.written == [("1", 4)]


async def test_an_api_server_that_is_away_is_asked_until_it_answers() -> None:
    away = KubeError(503, "away")
    recording = Recording(None, get=[away, job(3)], patch=[job(4, "2")])
    await recording.recorder.record(JOB, 4)
    assert recording.written == [("1", 4)]
