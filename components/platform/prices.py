"""Today's prices of spot nodes: a small job asks the cloud, and writes them to a ConfigMap.

The stack owns the ConfigMap, the job its data. So the job needs no right to create anything, and
the next `pulumi up` neither resets the data nor replaces the object because of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components.cloud import Cloud, PriceSource
from components.manifest import Manifest, ManifestArgs
from components.pod_security import confined, run_as
from spotrain import contract

LABELS = {"app.kubernetes.io/name": contract.PRICES_REFRESHER}
SCHEDULE = "*/30 * * * *"
"""Spot prices move slowly, a few times a day."""
LATE_SECONDS = 600
"""A run that could not start for so long is left out; the next one is near."""
RUN_SECONDS = 300
"""For the pull of the image too, on a node that does not have it."""


@dataclass(frozen=True, kw_only=True)
class PricesArgs:
    cloud: Cloud
    """If it tells no prices, nothing is made."""
    after: Sequence[pulumi.Resource]
    """The system namespace."""


class Prices(pulumi.ComponentResource):
    """The prices ConfigMap, and the CronJob that refreshes it."""

    def __init__(
        self, name: str, args: PricesArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:platform:Prices", name, {}, opts)
        self._name, self._cloud = name, args.cloud
        if args.cloud.prices:
            self._refreshed(args.cloud.prices, [*args.cloud.ready, *args.after])
        self.register_outputs({})

    def _refreshed(self, source: PriceSource, after: list[pulumi.Resource]) -> None:
        rights = Manifest(
            f"{self._name}-rights",
            ManifestArgs(file="prices.yaml", after=after),
            pulumi.ResourceOptions(parent=self, providers=[self._cloud.kubernetes]),
        )
        child = pulumi.ResourceOptions(parent=self, provider=self._cloud.kubernetes)
        latest = k8s.core.v1.ConfigMap(
            f"{self._name}-latest",
            metadata=_metadata(contract.PRICES_CONFIGMAP),
            opts=pulumi.ResourceOptions.merge(
                child,
                # After a refresh of the state, data that we never gave would count as changed, and
                # be taken away.
                pulumi.ResourceOptions(depends_on=after, ignore_changes=["data"]),
            ),
        )
        k8s.batch.v1.CronJob(
            f"{self._name}-refresher",
            metadata=_metadata(contract.PRICES_REFRESHER),
            spec=self._spec(source),
            opts=pulumi.ResourceOptions.merge(
                child,
                # A pod that starts before its identity exists never gets one.
                pulumi.ResourceOptions(
                    depends_on=[*source.ready, *rights.objects, latest, *after],
                ),
            ),
        )

    def _spec(self, source: PriceSource) -> k8s.batch.v1.CronJobSpecArgs:
        template = k8s.core.v1.PodTemplateSpecArgs(
            metadata=k8s.meta.v1.ObjectMetaArgs(labels=LABELS), spec=self._pod(source)
        )
        return k8s.batch.v1.CronJobSpecArgs(
            schedule=SCHEDULE,
            concurrency_policy="Forbid",
            starting_deadline_seconds=LATE_SECONDS,
            successful_jobs_history_limit=1,
            failed_jobs_history_limit=1,
            job_template=k8s.batch.v1.JobTemplateSpecArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(labels=LABELS),
                spec=k8s.batch.v1.JobSpecArgs(
                    backoff_limit=1, active_deadline_seconds=RUN_SECONDS, template=template
                ),
            ),
        )

    def _pod(self, source: PriceSource) -> k8s.core.v1.PodSpecArgs:
        return k8s.core.v1.PodSpecArgs(
            service_account_name=contract.PRICES_REFRESHER,
            restart_policy="Never",  # the pod of a failed run stays, with its log
            security_context=run_as(contract.JOB_UID),
            containers=[self._container(source)],
        )

    def _container(self, source: PriceSource) -> k8s.core.v1.ContainerArgs:
        return k8s.core.v1.ContainerArgs(
            name="prices",
            image=self._cloud.images.controller,
            command=["python3", "-m", "spotrain.clouds"],
            args=list(source.arguments),
            env=[
                k8s.core.v1.EnvVarArgs(name=name, value=value)
                for name, value in source.environment.items()
            ],
            resources=k8s.core.v1.ResourceRequirementsArgs(
                requests={"cpu": "50m", "memory": "128Mi"}, limits={"memory": "256Mi"}
            ),
            security_context=confined(),
        )


def _metadata(name: str) -> k8s.meta.v1.ObjectMetaArgs:
    return k8s.meta.v1.ObjectMetaArgs(name=name, namespace=contract.SYSTEM_NAMESPACE, labels=LABELS)
