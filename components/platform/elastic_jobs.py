"""The elastic job: its resource definition, and the controller that runs it."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s
import yaml

from components.cloud import Pool
from components.manifest import Manifest, ManifestArgs
from spotrain import contract

LABELS = {"app.kubernetes.io/name": contract.CONTROLLER_NAME}


@dataclass(frozen=True, kw_only=True)
class ElasticJobsArgs:
    job_namespace: pulumi.Input[str]
    pools: Sequence[Pool]
    image: pulumi.Input[str]
    """Controller image, by digest."""
    kubernetes: k8s.Provider
    after: Sequence[pulumi.Resource]
    """Nodes to run on, and the controller's rights in the job namespace."""


class ElasticJobs(pulumi.ComponentResource):
    """The ElasticJob definition, rights, the pools that jobs may use, controller and coordinator.

    Made in that order and removed in the reverse: while a job exists, its controller does.
    """

    def __init__(
        self, name: str, args: ElasticJobsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:platform:ElasticJobs", name, {}, opts)
        self._name, self._args = name, args
        self._kube = pulumi.ResourceOptions(parent=self, provider=args.kubernetes)
        provided = pulumi.ResourceOptions(parent=self, providers=[args.kubernetes])
        crd = Manifest(f"{name}-crd", ManifestArgs(file="crd.yaml"), provided)
        rbac = Manifest(f"{name}-rbac", ManifestArgs(file="rbac.yaml"), provided)
        in_system = pulumi.ResourceOptions.merge(
            self._kube, pulumi.ResourceOptions(depends_on=list(rbac.objects))
        )
        pools = k8s.core.v1.ConfigMap(
            f"{name}-pools",
            metadata=_metadata(contract.POOLS_CONFIGMAP),
            data={contract.POOLS_KEY: pools_document(args.pools)},
            opts=in_system,
        )
        service = self._coordinator_service(in_system)
        self._controller([*crd.objects, *rbac.objects, pools, service, *args.after])
        self.register_outputs({})

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

    def _controller(self, after: list[pulumi.Resource]) -> k8s.apps.v1.Deployment:
        return k8s.apps.v1.Deployment(
            f"{self._name}-controller",
            metadata=_metadata(contract.CONTROLLER_NAME),
            spec=k8s.apps.v1.DeploymentSpecArgs(
                # One at a time, until two can agree on who leads.
                replicas=1,
                strategy=k8s.apps.v1.DeploymentStrategyArgs(type="Recreate"),
                selector=k8s.meta.v1.LabelSelectorArgs(match_labels=LABELS),
                template=k8s.core.v1.PodTemplateSpecArgs(
                    metadata=k8s.meta.v1.ObjectMetaArgs(labels=LABELS), spec=self._pod()
                ),
            ),
            opts=pulumi.ResourceOptions.merge(self._kube, pulumi.ResourceOptions(depends_on=after)),
        )

    def _pod(self) -> k8s.core.v1.PodSpecArgs:
        return k8s.core.v1.PodSpecArgs(
            service_account_name=contract.CONTROLLER_NAME,
            security_context=k8s.core.v1.PodSecurityContextArgs(
                run_as_non_root=True,
                run_as_user=contract.JOB_UID,
                seccomp_profile=k8s.core.v1.SeccompProfileArgs(type="RuntimeDefault"),
            ),
            containers=[self._container()],
            volumes=[
                k8s.core.v1.VolumeArgs(name="tmp", empty_dir=k8s.core.v1.EmptyDirVolumeSourceArgs())
            ],
        )

    def _container(self) -> k8s.core.v1.ContainerArgs:
        ports = {"agents": contract.COORDINATOR_PORT, "metrics": contract.METRICS_PORT}
        return k8s.core.v1.ContainerArgs(
            name="controller",
            image=self._args.image,
            command=["python3", "-m", "spotrain.controller"],
            env=[
                k8s.core.v1.EnvVarArgs(
                    name=contract.ENV_JOB_NAMESPACE, value=self._args.job_namespace
                )
            ],
            ports=[
                k8s.core.v1.ContainerPortArgs(name=name, container_port=port)
                for name, port in ports.items()
            ],
            readiness_probe=_probe("/readyz"),
            liveness_probe=_probe("/healthz"),
            resources=k8s.core.v1.ResourceRequirementsArgs(
                requests={"cpu": "100m", "memory": "256Mi"}, limits={"memory": "512Mi"}
            ),
            security_context=k8s.core.v1.SecurityContextArgs(
                allow_privilege_escalation=False,
                read_only_root_filesystem=True,
                capabilities=k8s.core.v1.CapabilitiesArgs(drop=["ALL"]),
            ),
            volume_mounts=[k8s.core.v1.VolumeMountArgs(name="tmp", mount_path="/tmp")],
        )


def _probe(path: str) -> k8s.core.v1.ProbeArgs:
    action = k8s.core.v1.HTTPGetActionArgs(path=path, port="metrics")
    return k8s.core.v1.ProbeArgs(http_get=action, period_seconds=5, failure_threshold=6)


def _metadata(name: str) -> k8s.meta.v1.ObjectMetaArgs:
    return k8s.meta.v1.ObjectMetaArgs(name=name, namespace=contract.SYSTEM_NAMESPACE, labels=LABELS)


def pools_document(pools: Sequence[Pool]) -> str:
    """What the controller and the command line read: a YAML list, one mapping a pool."""
    return yaml.safe_dump([pool.document() for pool in pools], sort_keys=False)
