"""Drills that AWS carries out: the worker's spot instance is taken back as EC2 does it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from spotrain.cli.cluster import Cluster
from spotrain.cli.drill_plan import Manner, Strike, running_workers
from spotrain.cli.errors import NO_CLUSTER, UserError
from spotrain.kinds import NODES, PODS

ROLE: Final = "pulumi stack output drillRole names it, where the stack file says drills: true"


@dataclass(frozen=True)
class ByAws:
    """Interrupts with the credentials of whoever is logged in to AWS.

    It imports boto3, which alone takes longer than most verbs do.
    """

    cluster: Cluster
    role: str
    """ARN of the experiment's role."""

    def aim(self, job: str, strike: Strike) -> Strike:
        """The same interruption, of the node's instance and of every worker of the job on it.

        Raises UserError: the node is no spot instance of EC2, or nobody is logged in.
        """
        from spotrain.clouds.interruption import connect, find_spot, instance_of

        node = self.cluster.get(NODES, strike.worker.node, namespace="")
        with _told():
            instance = instance_of((node.get("spec") or {}).get("providerID", ""))
            arn = find_spot(connect("ec2", instance.region), instance)
        workers = running_workers(job, self.cluster.list_all(PODS))
        leaving = tuple(worker for worker in workers if worker.node == strike.worker.node)
        return replace(strike, calls=(), leaving=leaving, instance=arn)

    @contextmanager
    def struck(self, strike: Strike) -> Iterator[None]:
        from spotrain.clouds.interruption import connect, interrupted

        region = strike.instance.split(":")[3]
        with _told(), interrupted(connect("fis", region), strike.instance, self.role):
            yield


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
