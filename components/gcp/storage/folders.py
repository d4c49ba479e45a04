"""The folders of the shared file system, made once by somebody who may."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s

from components.pod_security import RUNTIME_DEFAULT
from spotrain import contract

WHOLE = "/mnt/whole"
MAKE_FOLDERS = """\
import os, sys
owner = int(sys.argv[1])
for word in sys.argv[2:]:
    folder, mode = word.rsplit(":", 1)
    os.makedirs(folder, exist_ok=True)
    if os.stat(folder).st_uid != owner:  # its mode first: who gives it away owns it no more
        os.chmod(folder, int(mode, 8))
        os.chown(folder, owner, owner)
"""


@dataclass(frozen=True, kw_only=True)
class FoldersArgs:
    folders: Mapping[str, str]
    """Name -> who may do what, in octal."""
    namespace: pulumi.Input[str]
    claim: pulumi.Input[str]
    """For the whole file system, in that namespace."""
    image: pulumi.Input[str]
    """Any image of ours."""
    kubernetes: k8s.Provider
    after: Sequence[pulumi.Resource]
    """A node to run on, which may pull the image."""


class Folders(pulumi.ComponentResource):
    """A Job that makes folders for the user of our images. A new Filestore belongs to root, so the
    Job does too, with one capability and a mount of nothing else."""

    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self, name: str, args: FoldersArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:gcp:Folders", name, {}, opts)
        job = k8s.batch.v1.Job(
            f"{name}-made",
            metadata=k8s.meta.v1.ObjectMetaArgs(
                namespace=args.namespace,
                # A Job that has failed stays so; this lets the next `pulumi up` try another one.
                annotations={"pulumi.com/replaceUnready": "true"},
            ),
            # Without a time to live: Pulumi would make a Job that is gone again and again.
            spec=k8s.batch.v1.JobSpecArgs(
                backoff_limit=3, template=k8s.core.v1.PodTemplateSpecArgs(spec=_pod(args))
            ),
            opts=pulumi.ResourceOptions(
                parent=self, provider=args.kubernetes, depends_on=list(args.after)
            ),
        )
        self.ready = (job,)
        self.register_outputs({})


def _pod(args: FoldersArgs) -> k8s.core.v1.PodSpecArgs:
    source = k8s.core.v1.PersistentVolumeClaimVolumeSourceArgs(claim_name=args.claim)
    return k8s.core.v1.PodSpecArgs(
        restart_policy="Never",  # what failed can then still be read
        automount_service_account_token=False,
        security_context=k8s.core.v1.PodSecurityContextArgs(
            run_as_user=0, seccomp_profile=RUNTIME_DEFAULT
        ),
        volumes=[k8s.core.v1.VolumeArgs(name="whole", persistent_volume_claim=source)],
        containers=[
            k8s.core.v1.ContainerArgs(
                name="folders",
                image=args.image,
                command=["python3", "-c", MAKE_FOLDERS],
                args=[
                    str(contract.JOB_UID),
                    *(f"{WHOLE}/{folder}:{mode}" for folder, mode in args.folders.items()),
                ],
                termination_message_policy="FallbackToLogsOnError",
                volume_mounts=[k8s.core.v1.VolumeMountArgs(name="whole", mount_path=WHOLE)],
                resources=k8s.core.v1.ResourceRequirementsArgs(
                    requests={"cpu": "50m", "memory": "64Mi"}, limits={"memory": "128Mi"}
                ),
                security_context=k8s.core.v1.SecurityContextArgs(
                    allow_privilege_escalation=False,
                    read_only_root_filesystem=True,
                    capabilities=k8s.core.v1.CapabilitiesArgs(drop=["ALL"], add=["CHOWN"]),
                ),
            )
        ],
    )
