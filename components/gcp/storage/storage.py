"""What jobs read and write: the shared file system, and a bucket."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components.cloud import CsiVolume, Volume
from components.gcp.reference import ClusterReference, Place
from components.gcp.storage.bucket import Bucket, BucketArgs, BucketShape
from components.gcp.storage.file_server import (
    DRIVER,
    FileServer,
    FileServerArgs,
    FileSystemShape,
    ServerShape,
    handle,
)
from components.gcp.storage.folders import Folders, FoldersArgs
from spotrain import contract

NAMESPACE = f"{contract.SYSTEM_NAMESPACE}-storage"
SHARED, ARCHIVE = "shared", "archive"
FOLDERS = {SHARED: "0775", ARCHIVE: "0700"}
"""On the file system; none can be left by who mounts it."""


@dataclass(frozen=True, kw_only=True)
class StorageShape:
    """What a stack file decides."""

    files: FileSystemShape | ServerShape
    bucket: BucketShape | None


@dataclass(frozen=True, kw_only=True)
class StorageArgs:
    shape: StorageShape
    network: pulumi.Input[str]
    cluster: ClusterReference
    place: Place
    image: pulumi.Input[str]
    """Any image of ours: it makes the folders."""
    after: Sequence[pulumi.Resource]
    """Nodes, which may pull it."""


class Storage(pulumi.ComponentResource):
    """A file system with a folder for the shared tree and one for the archive, each a volume of its
    own; on request, a bucket beside it."""

    volumes: tuple[Volume, ...]
    """The shared one first."""
    archive: Volume
    outputs: Mapping[str, pulumi.Output[str]]
    """What a person needs to know."""
    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self, name: str, args: StorageArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:gcp:Storage", name, {}, opts)
        self._name, self._args = name, args
        self._child = pulumi.ResourceOptions(parent=self)
        server, folders = self._files()
        shared = Volume(
            claim=contract.VOLUME_CLAIM,
            mount=contract.VOLUME_MOUNT,
            folders=(contract.DATA_DIR, contract.OUTPUT_DIR),
            source=_folder(server, SHARED),
        )
        self.archive = Volume(
            claim=contract.ARCHIVE_CLAIM,
            mount=contract.ARCHIVE_MOUNT,
            source=_folder(server, ARCHIVE),
        )
        buckets = self._buckets()
        self.volumes = (shared, *(bucket.volume for bucket in buckets))
        self.ready = (*folders.ready, *(each for b in buckets for each in b.ready))
        where = pulumi.Output.format("{0}:/{1}", server.address, server.share)
        self.outputs = {"fileServer": where} | ({"bucket": buckets[0].name} if buckets else {})
        self.register_outputs(dict(self.outputs))

    def _files(self) -> tuple[FileServer, Folders]:
        args, kubernetes = self._args, self._args.cluster.kubernetes
        namespace = k8s.core.v1.Namespace(
            f"{self._name}-namespace",
            metadata=k8s.meta.v1.ObjectMetaArgs(
                name=NAMESPACE, labels={"pod-security.kubernetes.io/enforce": "baseline"}
            ),
            opts=pulumi.ResourceOptions(
                parent=self, provider=kubernetes, depends_on=list(args.after)
            ),
        )
        inside = namespace.metadata.apply(lambda metadata: str(metadata.name))
        server = FileServer(
            f"{self._name}-files",
            FileServerArgs(
                shape=args.shape.files,
                namespace=inside,
                network=args.network,
                cluster=args.cluster,
                place=args.place,
            ),
            self._child,
        )
        folders = Folders(
            f"{self._name}-folders",
            FoldersArgs(
                folders=FOLDERS,
                namespace=inside,
                claim=server.claim,
                image=args.image,
                kubernetes=kubernetes,
                after=args.after,
            ),
            self._child,
        )
        return server, folders

    def _buckets(self) -> list[Bucket]:
        """None, or the one that is asked for."""
        args = self._args
        if args.shape.bucket is None:
            return []
        bucket = BucketArgs(shape=args.shape.bucket, place=args.place, after=args.after)
        return [Bucket(f"{self._name}-bucket", bucket, self._child)]


def _folder(server: FileServer, folder: str) -> CsiVolume:
    return CsiVolume(
        driver=DRIVER,
        handle=server.address.apply(lambda address: handle(address, folder)),
        attributes={
            "ip": server.address,
            "volume": pulumi.Output.concat(server.share, "/", folder),
        },
    )
