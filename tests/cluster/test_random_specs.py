"""Two hundred random jobs at a real API server, with the controller running."""

from typing import Any

import pytest

from spotrain import kinds
from spotrain.kinds import Object
from tests.cluster.cluster import ControllerProcess, Namespace, until
from tests.cluster.random_specs import broken, draw_some, whole
from tests.cluster.strict_api import Answer, strict_api

pytestmark = pytest.mark.cluster


async def submit_all(namespace: Namespace, jobs: list[dict[str, Any]]) -> list[Answer]:
    async with strict_api(namespace) as api:
        return [
            await api.create({**job, "metadata": {"name": f"job-{number}"}})
            for number, job in enumerate(jobs)
        ]


def is_answered(job: Object) -> bool:
    """Has the controller said what it makes of the job?"""
    is_foreign = job["spec"]["managedBy"] != ""
    return is_foreign or bool((job.get("status") or {}).get("conditions"))


@pytest.mark.acceptance(7)
async def test_every_random_job_is_refused_with_a_reason_or_run_and_nothing_crashes(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    jobs = draw_some(whole, 120) + draw_some(broken(), 80)
    assert len(jobs) == 200
    await controller.start()

    answers = await submit_all(namespace, jobs)

    refused = [answer for answer in answers if not answer.accepted]
    assert all(answer.object["code"] in (400, 422) and answer.message for answer in refused)
    assert 20 <= len(refused) <= 180, "half of them or so, or this test shows little"
    taken = len(answers) - len(refused)
    found = await until(
        namespace.kube,
        kinds.JOBS,
        namespace.name,
        lambda items: len(items) == taken and all(map(is_answered, items)),
    )
    for job in found:
        for condition in (job.get("status") or {}).get("conditions") or ():
            assert condition["reason"], job
    await namespace.submit("after-all-of-them", 1)
    await namespace.until_pods(
        lambda pods: any(pod["metadata"]["name"] == "after-all-of-them-worker-0" for pod in pods)
    )
    assert controller.process
    assert controller.process.returncode is None
    assert not [line for line in controller.log if "Traceback" in line]
