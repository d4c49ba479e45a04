"""A project and a cluster in it, as everything that is put there needs to know them."""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as k8s


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a component goes."""

    project: str
    """Its id."""
    region: str
    number: pulumi.Output[str]
    """The project's, by which IAM names identities of pods."""
    suffix: pulumi.Output[str]
    """Random, for names that Google takes once in a project and gives back late."""
    labels: dict[str, str]
    """What the bill can be split by; the provider puts them on whatever takes labels."""

    def pod_identity(self, namespace: str, account: str) -> pulumi.Output[str]:
        """Who pods of a service account are to Google. They need no key, and no account of
        Google's."""
        return pulumi.Output.concat(
            "principal://iam.googleapis.com/projects/",
            self.number,
            f"/locations/global/workloadIdentityPools/{self.project}.svc.id.goog"
            f"/subject/ns/{namespace}/sa/{account}",
        )


@dataclass(frozen=True, kw_only=True)
class ClusterReference:
    """What goes on a cluster, or into it."""

    name: pulumi.Output[str]
    location: str
    """A zone, or a region."""
    kubernetes: k8s.Provider
