"""The file system that everything shared lies on: a Filestore, or an NFS server that is there."""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components.gcp.reference import ClusterReference, Place

DRIVER = "filestore.csi.storage.gke.io"
ZONE_LABEL = "topology.gke.io/zone"
"""By which the driver chooses where it makes an instance."""
TIERS = {
    "basic-hdd": "standard",
    "basic-ssd": "premium",
    "zonal": "zonal",
    "regional": "regional",
}
"""Filestore's word -> the driver's."""
FOREVER = ("parameters.labels", "reclaimPolicy")
"""Fields of a class in which it differs from what is made by it, and which Kubernetes lets nobody
change. A new class would be a new claim, and with the old one all data would go: by a stack that is
renamed, or by the very `retain` that was to keep it."""
MADE_IN = "20m"
"""An instance takes some minutes."""
SIZE = "1Ti"
"""Kubernetes wants a number; a server that is there has the size that it has."""


@dataclass(frozen=True, kw_only=True)
class FileSystemShape:
    """A Filestore that the stack makes."""

    tier: str
    size_gib: int
    zone: str
    """Where it is, unless its tier has it in several."""
    retain: bool
    """Whether it outlives the stack. If not, it is deleted with it, and everything on it."""


@dataclass(frozen=True, kw_only=True)
class ServerShape:
    """An NFS server that is there."""

    address: str
    path: str


@dataclass(frozen=True, kw_only=True)
class FileServerArgs:
    shape: FileSystemShape | ServerShape
    namespace: pulumi.Input[str]
    """Of the claim: not the jobs'."""
    network: pulumi.Input[str]
    """Name of the network, into which an instance gets an address."""
    cluster: ClusterReference
    place: Place


class FileServer(pulumi.ComponentResource):
    """A claim for the whole of it, and where it is.

    A Filestore is made by the cluster's driver: Google makes the small ones, a tenth of the size
    and price of the smallest that its API makes, for claims only.
    """

    claim: pulumi.Output[str]
    """Name of the claim in the namespace."""
    address: pulumi.Output[str]
    share: pulumi.Output[str]
    """The exported folder, without the slash before it."""

    def __init__(
        self, name: str, args: FileServerArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:gcp:FileServer", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self, provider=args.cluster.kubernetes)
        if isinstance(args.shape, FileSystemShape):
            self._make(args.shape)
        else:
            self._use(args.shape)
        self.register_outputs({"address": self.address, "share": self.share})

    def _make(self, shape: FileSystemShape) -> None:
        zone = k8s.core.v1.TopologySelectorLabelRequirementArgs(key=ZONE_LABEL, values=[shape.zone])
        terms = [k8s.core.v1.TopologySelectorTermArgs(match_label_expressions=[zone])]
        labels = ",".join(f"{key}={value}" for key, value in self._args.place.labels.items())
        storage_class = k8s.storage.v1.StorageClass(
            f"{self._name}-class",
            provisioner=DRIVER,
            parameters={
                "tier": TIERS[shape.tier],
                "network": self._args.network,
                "labels": labels,
            },
            allowed_topologies=None if shape.tier == "regional" else terms,
            reclaim_policy="Retain" if shape.retain else "Delete",
            volume_binding_mode="Immediate",
            allow_volume_expansion=True,
            opts=pulumi.ResourceOptions.merge(
                self._child, pulumi.ResourceOptions(ignore_changes=list(FOREVER))
            ),
        )
        made = self._claim(storage_class.metadata.name, f"{shape.size_gib}Gi")
        volume = k8s.core.v1.PersistentVolume.get(
            f"{self._name}-made", made.spec.volume_name, opts=self._child
        )
        self._keep(made.spec.volume_name, shape)
        attributes = volume.spec.csi.volume_attributes
        self.address = attributes.apply(lambda found: str(found["ip"]))
        self.share = attributes.apply(lambda found: str(found["volume"]))

    def _keep(self, volume: pulumi.Input[str], shape: FileSystemShape) -> None:
        """Of what is made the volume itself says whether it outlives its claim, and may be told
        otherwise at any time."""
        k8s.core.v1.PersistentVolumePatch(
            f"{self._name}-kept",
            metadata=k8s.meta.v1.ObjectMetaPatchArgs(
                name=volume,
                # The driver has said something else.
                annotations={"pulumi.com/patchForce": "true"},
            ),
            spec=k8s.core.v1.PersistentVolumeSpecPatchArgs(
                persistent_volume_reclaim_policy="Retain" if shape.retain else "Delete"
            ),
            opts=pulumi.ResourceOptions.merge(
                self._child,
                # Taken back, it would be Kubernetes' default that a destroy finds.
                pulumi.ResourceOptions(retain_on_delete=True),
            ),
        )

    def _use(self, shape: ServerShape) -> None:
        share = shape.path.strip("/")
        volume = k8s.core.v1.PersistentVolume(
            f"{self._name}-whole",
            spec=k8s.core.v1.PersistentVolumeSpecArgs(
                capacity={"storage": SIZE},
                access_modes=["ReadWriteMany"],
                persistent_volume_reclaim_policy="Retain",
                storage_class_name="",
                csi=k8s.core.v1.CSIPersistentVolumeSourceArgs(
                    driver=DRIVER,
                    volume_handle=handle(shape.address, "whole"),
                    volume_attributes={"ip": shape.address, "volume": share},
                ),
            ),
            opts=self._child,
        )
        self._claim("", SIZE, volume=volume.id)
        self.address = pulumi.Output.from_input(shape.address)
        self.share = pulumi.Output.from_input(share)

    def _claim(
        self, storage_class: pulumi.Input[str], size: str, volume: pulumi.Input[str] | None = None
    ) -> k8s.core.v1.PersistentVolumeClaim:
        claim = k8s.core.v1.PersistentVolumeClaim(
            f"{self._name}-claim",
            metadata=k8s.meta.v1.ObjectMetaArgs(namespace=self._args.namespace),
            spec=k8s.core.v1.PersistentVolumeClaimSpecArgs(
                access_modes=["ReadWriteMany"],
                storage_class_name=storage_class,
                volume_name=volume,
                resources=k8s.core.v1.VolumeResourceRequirementsArgs(requests={"storage": size}),
            ),
            opts=pulumi.ResourceOptions.merge(
                self._child,
                pulumi.ResourceOptions(
                    custom_timeouts=pulumi.CustomTimeouts(create=MADE_IN, delete=MADE_IN)
                ),
            ),
        )
        self.claim = claim.metadata.apply(lambda metadata: str(metadata.name))
        return claim


def handle(server: str, folder: str) -> str:
    """A volume's, as the driver writes them. On a node two volumes with one handle are one."""
    return f"modeInstance/{server}/spotrain/{folder}"
