"""What Prometheus reads of the controller as a process, against a real API server."""

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.cluster.cluster import ControllerProcess, Namespace

pytestmark = pytest.mark.cluster
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


async def read(controller: ControllerProcess) -> Samples:
    async with httpx2.AsyncClient() as http:
        answer = await http.get(f"http://127.0.0.1:{controller.probes}/metrics")
    assert answer.status_code == 200
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


async def test_a_job_is_told_while_it_exists(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    await namespace.submit("digits", 2)
    await controller.start()
    pods = await namespace.until_pods(lambda found: len(found) == 2)
    ready = [{"type": "Ready", "status": "True"}]
    await namespace.set_pod_status(pods[0], phase="Running", conditions=ready)
    await namespace.until_job(
        lambda job: (
            (job.get("status") or {}).get("replicaStatuses", {}).get("Worker", {}).get("ready") == 1
        )
    )

    samples = await read(controller)

    job = frozenset({"namespace": namespace.name, "job": "digits"}.items())
    assert samples["spotrain_job_workers_desired", job] == 2
    assert samples["spotrain_job_workers_running", job] == 1
    assert samples["spotrain_reconcile_seconds_count", frozenset()] > 0
    created = frozenset({"method": "POST", "code": "201"}.items())
    assert samples["spotrain_api_requests_total", created] >= 2


async def test_the_process_tells_how_it_is_itself(
    namespace: Namespace, controller: ControllerProcess
) -> None:
    await controller.start()
    await controller.until_serving()

    samples = await read(controller)

    assert samples["spotrain_coordinator_connections", frozenset()] == 0
    assert samples["process_resident_memory_bytes", frozenset()] > 0
    assert not [name for name, _ in samples if name.startswith("spotrain_job_")]
