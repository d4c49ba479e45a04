"""What a pod of ours may do to its node, which is nothing: the restricted pod security standard."""

import pulumi_kubernetes as k8s

from spotrain import contract

RUNTIME_DEFAULT = k8s.core.v1.SeccompProfileArgs(type="RuntimeDefault")


def run_as(user: int) -> k8s.core.v1.PodSecurityContextArgs:
    return k8s.core.v1.PodSecurityContextArgs(
        run_as_non_root=True, run_as_user=user, seccomp_profile=RUNTIME_DEFAULT
    )


def run_as_owner() -> k8s.core.v1.PodSecurityContextArgs:
    """As the owner of what lies on the shared volumes."""
    context = run_as(contract.JOB_UID)
    # Opens a fresh volume to this user, where the driver knows how to.
    context.fs_group = contract.JOB_UID
    context.fs_group_change_policy = "OnRootMismatch"
    return context


def confined() -> k8s.core.v1.SecurityContextArgs:
    """For each container."""
    return k8s.core.v1.SecurityContextArgs(
        allow_privilege_escalation=False,
        read_only_root_filesystem=True,
        capabilities=k8s.core.v1.CapabilitiesArgs(drop=["ALL"]),
    )
