"""The elastic job: its resource definition, and the controller that runs it."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s
import yaml

from components.cloud import Pool, Terms
from components.manifest import Manifest, ManifestArgs
from components.platform.controller_pod import LABELS, controller_pod
from components.platform.system_network import SystemNetwork, SystemNetworkArgs
from spotrain import contract

REPLICAS = 2
"""One leads, one stands by: when the leader's node goes, nobody waits for a pod to start."""
STRATEGY = k8s.apps.v1.DeploymentStrategyArgs(
    type="RollingUpdate",
    # One after the other, in the room of two. The leader that goes hands over at once, and the
    # standby is always there to take it.
    rolling_update=k8s.apps.v1.RollingUpdateDeploymentArgs(max_surge=0, max_unavailable=1),
)


@dataclass(frozen=True, kw_only=True)
class ElasticJobsArgs:
    job_namespace: pulumi.Input[str]
    pools: Sequence[Pool]
    terms: Terms
    image: pulumi.Input[str]
    """Controller image, by digest."""
    training_image: pulumi.Input[str]
    """For jobs that name none, by digest."""
    max_gpus_per_researcher: int | None
    """None: any number."""
    kubernetes: k8s.Provider
    after: Sequence[pulumi.Resource]
    """Nodes to run on, and what must hold before the first pod of a job."""


class ElasticJobs(pulumi.ComponentResource):
    """The ElasticJob definition, rights, the pools that jobs may use, controller and coordinator.

    Made in that order and removed in the reverse. Jobs have no finalizer, so none of them waits for
    a controller that is gone; with the definition go the jobs, and with them their pods, while
    there are still nodes to stop them on.
    """

    system: tuple[pulumi.Resource, ...]
    """The system namespace, and who may do what in it."""

    def __init__(
        self, name: str, args: ElasticJobsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:platform:ElasticJobs", name, {}, opts)
        self._name, self._args = name, args
        self._kube = pulumi.ResourceOptions(parent=self, provider=args.kubernetes)
        crd, rbac = self._manifest("crd"), self._manifest("rbac")
        self.system = rbac.objects
        in_system = self._after(*rbac.objects)
        network = SystemNetwork(
            f"{name}-network",
            SystemNetworkArgs(
                job_namespace=args.job_namespace, kubernetes=args.kubernetes, after=rbac.objects
            ),
            pulumi.ResourceOptions(parent=self),
        )
        pools = k8s.core.v1.ConfigMap(
            f"{name}-pools",
            metadata=_metadata(contract.POOLS_CONFIGMAP),
            data={
                contract.POOLS_KEY: pools_document(args.pools),
                contract.TERMS_KEY: yaml.safe_dump(args.terms.document(), sort_keys=False),
                contract.TRAINING_IMAGE_KEY: args.training_image,
            },
            opts=in_system,
        )
        service = self._coordinator_service(in_system)
        self._disruption_budget(in_system)
        needed = (*crd.objects, *rbac.objects, *network.ready, pools, service, *args.after)
        self._controller(self._after(*needed))
        self.register_outputs({})

    def _manifest(self, kind: str) -> Manifest:
        return Manifest(
            f"{self._name}-{kind}",
            # Not only the controller: a namespace is gone, and a job's last pod has stopped, only
            # while there are nodes and the pod network that let go of them.
            ManifestArgs(file=f"{kind}.yaml", after=self._args.after),
            pulumi.ResourceOptions(parent=self, providers=[self._args.kubernetes]),
        )

    def _after(self, *resources: pulumi.Resource) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions.merge(
            self._kube, pulumi.ResourceOptions(depends_on=list(resources))
        )

    def _coordinator_service(self, opts: pulumi.ResourceOptions) -> k8s.core.v1.Service:
        """Headless: an agent tries each coordinator until the leading one answers."""
        port = k8s.core.v1.ServicePortArgs(
            name="agents", port=contract.COORDINATOR_PORT, target_port="agents"
        )
        return k8s.core.v1.Service(
            f"{self._name}-coordinator",
            metadata=_metadata(contract.COORDINATOR_SERVICE),
            spec=k8s.core.v1.ServiceSpecArgs(cluster_ip="None", selector=LABELS, ports=[port]),
            opts=opts,
        )

    def _disruption_budget(self, opts: pulumi.ResourceOptions) -> None:
        """At most one away at a time. It never keeps a node from being drained: training goes on
        while the controller moves, and a budget that forbids it would stop every node update."""
        k8s.policy.v1.PodDisruptionBudget(
            f"{self._name}-budget",
            metadata=_metadata(contract.CONTROLLER_NAME),
            spec=k8s.policy.v1.PodDisruptionBudgetSpecArgs(
                max_unavailable=1,
                selector=k8s.meta.v1.LabelSelectorArgs(match_labels=LABELS),
                unhealthy_pod_eviction_policy="AlwaysAllow",
            ),
            opts=opts,
        )

    def _controller(self, opts: pulumi.ResourceOptions) -> None:
        k8s.apps.v1.Deployment(
            f"{self._name}-controller",
            metadata=_metadata(contract.CONTROLLER_NAME),
            spec=k8s.apps.v1.DeploymentSpecArgs(
                replicas=REPLICAS,
                strategy=STRATEGY,
                selector=k8s.meta.v1.LabelSelectorArgs(match_labels=LABELS),
                template=controller_pod(
                    self._args.image,
                    self._args.job_namespace,
                    max_gpus_per_researcher=self._args.max_gpus_per_researcher,
                ),
            ),
            opts=opts,
        )


def _metadata(name: str) -> k8s.meta.v1.ObjectMetaArgs:
    return k8s.meta.v1.ObjectMetaArgs(name=name, namespace=contract.SYSTEM_NAMESPACE, labels=LABELS)


def pools_document(pools: Sequence[Pool]) -> str:
    """What the controller and the command line read: a YAML list, one mapping a pool."""
    return yaml.safe_dump([pool.document() for pool in pools], sort_keys=False)
