"""A cluster that somebody else has made: the way to it, and what is on it. Nothing is built."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pulumi

from components.cloud import Cloud, ImageReferences, Pool, Volume, VolumeSource
from components.kubernetes_provider import kubernetes_provider
from spotrain import contract

LEDGER_DIR = "ledger"
"""Made by the stack, so that a folder that the archive's user may not write to is told at once."""
GPU_EXAMPLE, CPU_EXAMPLE = "digits.yaml", "digits-cpu.yaml"


@dataclass(frozen=True, kw_only=True)
class ExistingCloudArgs:
    kubeconfig: str
    """Its path, never its content: that holds credentials, and inputs are kept in Pulumi's state.
    A leading ~ is for the provider to expand, so that the state is the same for everybody."""
    context: str
    """Of the kubeconfig: it names the cluster, and the user that everything is made as."""
    pools: tuple[Pool, ...]
    volume: VolumeSource
    archive: VolumeSource
    """For ledger and logs; nothing of it may be in `volume`, which jobs mount."""
    images: ImageReferences


class ExistingCloud(pulumi.ComponentResource):
    """The provider of a cluster that a kubeconfig names, beside what a stack file says of it."""

    cloud: Cloud

    def __init__(
        self, name: str, args: ExistingCloudArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:existing:ExistingCloud", name, {}, opts)
        provider = kubernetes_provider(
            f"{name}-kubernetes",
            kubeconfig=args.kubeconfig,
            context=args.context,
            # Another file, or another address in it, is the same cluster.
            cluster=args.context,
            opts=pulumi.ResourceOptions(parent=self),
        )
        shared = Volume(
            claim=contract.VOLUME_CLAIM,
            source=args.volume,
            mount=contract.VOLUME_MOUNT,
            folders=(contract.DATA_DIR, contract.OUTPUT_DIR),
        )
        self.cloud = Cloud(
            kubernetes=provider,
            pools=args.pools,
            volumes=(shared,),
            archive=Volume(
                claim=contract.ARCHIVE_CLAIM,
                source=args.archive,
                mount=contract.ARCHIVE_MOUNT,
                folders=(LEDGER_DIR,),
            ),
            metrics_disk=None,
            alert_receiver=None,
            prices=None,
            job_credentials=None,
            researchers=(),
            images=args.images,
            ready=(),
            outputs={
                "labelNodes": "\n".join(label_commands(args.context, args.pools)),
                "next": first_job_command(args.context, args.pools),
            },
        )
        self.register_outputs({})


def label_commands(context: str, pools: Sequence[Pool]) -> Iterator[str]:
    """One a pool and zone; a node that has its zone already keeps it."""
    for pool in pools:
        for zone in pool.zones:
            labels = {**pool.node_labels(), contract.LABEL_ZONE: zone}
            said = " ".join(f"{key}={value}" for key, value in labels.items())
            yield f"kubectl --context {context} label node <node> {said}"


def first_job_command(context: str, pools: Sequence[Pool]) -> str:
    """Submits the example that the cluster can run."""
    has_gpus = any(pool.gpus_per_node for pool in pools)
    example = GPU_EXAMPLE if has_gpus else CPU_EXAMPLE
    return f"kubectl --context {context} apply -f k8s/examples/{example}"
