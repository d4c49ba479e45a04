"""Elastic Fabric Adapters: interfaces of a launch template, and what puts nodes side by side."""

from collections.abc import Mapping

import pulumi
import pulumi_aws as aws


def efa_interfaces(
    count: int, security_group_id: pulumi.Input[str]
) -> list[aws.ec2.LaunchTemplateNetworkInterfaceArgs]:
    """The primary interface with the node's address, and one adapter on each network card.

    The adapters have no address of their own (`efa-only`): 32 of them would take as many of the
    subnet's. Who names interfaces must name their security group; the cluster's own lets its
    members talk to each other, adapters included, both ways.
    """

    def interface(
        *, card: int, device: int, kind: str | None
    ) -> aws.ec2.LaunchTemplateNetworkInterfaceArgs:
        return aws.ec2.LaunchTemplateNetworkInterfaceArgs(
            network_card_index=card,
            device_index=device,
            interface_type=kind,
            security_groups=[security_group_id],
            delete_on_termination="true",
        )

    return [
        interface(card=0, device=0, kind=None),
        interface(card=0, device=1, kind="efa-only"),
        *(interface(card=card, device=0, kind="efa-only") for card in range(1, count)),
    ]


def side_by_side(
    name: str, *, tags: Mapping[str, str], opts: pulumi.ResourceOptions
) -> aws.ec2.PlacementGroup:
    """A group of instances on one low-latency segment. It lies in one zone: each has its own."""
    return aws.ec2.PlacementGroup(name, strategy="cluster", tags=dict(tags), opts=opts)
