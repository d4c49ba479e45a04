"""Drills that AWS carries out: the worker's spot instance is taken back as EC2 does it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from spotrain.cli import output
from spotrain.cli.cluster_jobs import ClusterJobs
from spotrain.cli.drill_cluster import InCluster
from spotrain.cli.drill_plan import Strike, aim, names, on_node, running_workers
from spotrain.cli.drill_signals import undisturbed
from spotrain.cli.drilling import Check
from spotrain.cli.errors import NO_CLUSTER, UserError
from spotrain.cli.job_view import JobView
from spotrain.kinds import NODES, PODS
from spotrain.local.interruptions import Manner

ROLE: Final = "pulumi stack output drillRole names it, where the stack file says drills: true"


@dataclass(frozen=True)
class ByAws:
    """`Ground`: the credentials of whoever is logged in to AWS interrupt the node of a worker, and
    with it every worker of the job on it.

    It imports boto3, which alone takes longer than most verbs do.
    """

    cluster: InCluster
    role: str
    """ARN of the experiment's role."""
    local = False

    @property
    def jobs(self) -> ClusterJobs:
        return self.cluster.jobs

    def plan(self, manner: Manner, seen: JobView, index: int | None) -> Strike:
        """Raises UserError also where the node is no spot instance of EC2, or nobody is logged
        in."""
        from spotrain.clouds.interruption import connect, find_spot, instance_of, template

        api = self.cluster.cluster
        workers = running_workers(seen.name, api.list_all(PODS))
        chosen, _ = aim(manner, seen.name, workers, index)
        leaving = on_node(workers, chosen.node)
        node = api.get(NODES, chosen.node, namespace="")
        with _told():
            instance = instance_of((node.get("spec") or {}).get("providerID", ""))
            arn = find_spot(connect("ec2", instance.region), instance)
        says = f"lets AWS take back {instance.id} under {chosen.node}, and {names(leaving)} with it"
        return Strike(
            manner=manner,
            worker=chosen,
            leaving=leaving,
            says=says,
            instance=arn,
            experiment=template(arn, self.role),
        )

    @contextmanager
    def struck(self, strike: Strike) -> Iterator[Check]:
        from spotrain.clouds.interruption import connect, interrupted

        with _told():
            fis = connect("fis", strike.instance.split(":")[3])
            with interrupted(
                fis, strike.instance, self.role, say=output.say, undisturbed=undisturbed
            ) as experiment:
                yield experiment.check

    def usd_per_hour(self, seen: JobView) -> float | None:
        return self.cluster.usd_per_hour(seen)


def require(manners: tuple[Manner, ...], role: str | None) -> str:
    """The role. Raises UserError where `--real` cannot do what was asked for."""
    if set(manners) != {Manner.NOTICE}:
        raise UserError(
            f"--real with --kind {','.join(manners)}: AWS interrupts with notice only; take "
            "--kind notice, and drill the others without --real."
        )
    if not role or not role.startswith("arn:"):
        raise UserError(
            f"--role {role or 'is missing'}: --real needs the ARN of the role that AWS's Fault "
            f"Injection Service takes; {ROLE}."
        )
    return role


@contextmanager
def _told() -> Iterator[None]:
    from spotrain.clouds.interruption import NotInterrupted

    try:
        yield
    except NotInterrupted as error:
        raise UserError(str(error), exit_code=NO_CLUSTER) from None
