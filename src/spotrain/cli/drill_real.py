"""Drills that the cloud carries out: the worker's spot machine is taken back as in earnest."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from spotrain.cli import output
from spotrain.cli.cluster_jobs import ClusterJobs
from spotrain.cli.drill_cluster import InCluster
from spotrain.cli.drill_plan import Strike, aim, names, on_node, running_workers
from spotrain.cli.drilling import Check, nothing_to_check
from spotrain.cli.errors import NO_CLUSTER, UserError
from spotrain.cli.interrupts import undisturbed
from spotrain.cli.job_view import JobView
from spotrain.kinds import NODES, PODS
from spotrain.local.interruptions import Manner

GOOGLE: Final = "gce://"
"""So begin the provider IDs of Compute Engine's nodes."""
ROLE: Final = "pulumi stack output drillRole names it, where the stack file says drills: true"


@dataclass(frozen=True)
class ByCloud:
    """`Ground`: the cloud takes back the node of a worker, and with it every worker of the job on
    it, with the credentials of whoever is logged in to that cloud.

    It imports the cloud's library, which alone takes longer than most verbs do.
    """

    cluster: InCluster
    role: str | None
    """For AWS: ARN of the experiment's role."""
    local = False

    @property
    def jobs(self) -> ClusterJobs:
        return self.cluster.jobs

    def plan(self, manner: Manner, seen: JobView, index: int | None) -> Strike:
        """Raises UserError also where the node is no spot machine, or nobody is logged in."""
        api = self.cluster.cluster
        workers = running_workers(seen.name, api.list_all(PODS))
        chosen, _ = aim(manner, seen.name, workers, index)
        leaving = on_node(workers, chosen.node)
        node = api.get(NODES, chosen.node, namespace="")
        provider_id = (node.get("spec") or {}).get("providerID", "")
        machine = self._machine(provider_id)
        says = f"lets {machine.cloud} take back {machine.id} under {chosen.node}, and "
        return Strike(
            manner=manner,
            worker=chosen,
            leaving=leaving,
            says=says + f"{names(leaving)} with it",
            instance=machine.name,
            asks=f"{machine.asks}: {machine.name}",
            experiment=machine.experiment,
        )

    def _machine(self, provider_id: str) -> "_Machine":
        if provider_id.startswith(GOOGLE):
            with _told():
                from spotrain.clouds import gcp_interruption as google

                found = google.instance_of(provider_id)
                google.require_spot(google.connect(), found)
            return _Machine(
                "Google Cloud", found.id, provider_id, "compute.instances.simulateMaintenanceEvent"
            )
        role = require_role(self.role)
        with _told():
            from spotrain.clouds.interruption import connect, find_spot, instance_of, template

            instance = instance_of(provider_id)
            arn = find_spot(connect("ec2", instance.region), instance)
        asks = "aws fis create-experiment-template, start-experiment"
        return _Machine("AWS", instance.id, arn, asks, template(arn, role))

    @contextmanager
    def struck(self, strike: Strike) -> Iterator[Check]:
        if strike.instance.startswith(GOOGLE):
            with _told():
                from spotrain.clouds import gcp_interruption as google

                google.interrupt(google.connect(), google.instance_of(strike.instance))
            yield nothing_to_check
            return
        from spotrain.clouds.interruption import connect, interrupted

        role = require_role(self.role)
        with _told():
            fis = connect("fis", strike.instance.split(":")[3])
            with interrupted(
                fis, strike.instance, role, say=output.say, undisturbed=undisturbed
            ) as experiment:
                yield experiment.check

    def usd_per_hour(self, seen: JobView) -> float | None:
        return self.cluster.usd_per_hour(seen)


@dataclass(frozen=True)
class _Machine:
    cloud: str
    id: str
    name: str
    """By which the cloud finds it again."""
    asks: str
    """Of the cloud."""
    experiment: Mapping[str, Any] = field(default_factory=dict)
    """What AWS is asked for."""


def require_notice(manners: tuple[Manner, ...]) -> None:
    """Raises UserError where `--real` cannot do what was asked for."""
    if set(manners) != {Manner.NOTICE}:
        raise UserError(
            f"--real with --kind {','.join(manners)}: clouds interrupt with notice only; take "
            "--kind notice, and drill the others without --real."
        )


def require_role(role: str | None) -> str:
    """Raises UserError: AWS interrupts nobody without it."""
    if not role or not role.startswith("arn:"):
        raise UserError(
            f"--role {role or 'is missing'}: --real needs the ARN of the role that AWS's Fault "
            f"Injection Service takes; {ROLE}."
        )
    return role


@contextmanager
def _told() -> Iterator[None]:
    from spotrain.clouds.answers import NotInterrupted

    try:
        yield
    except NotInterrupted as error:
        raise UserError(str(error), exit_code=NO_CLUSTER) from None
    except ImportError as error:
        said = f"the cloud's library is not installed ({error.name})"
        step = "pip install 'spotrain[aws]' or 'spotrain[gcp]'"
        raise UserError(f"{said}. Next: {step}.") from None
