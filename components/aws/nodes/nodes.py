"""Every node of the cluster: their identity, what runs on each, managers and GPU pools."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from components.aws.addons.node_addons import NodeAddOns, NodeAddOnsArgs
from components.aws.nodes.gpu_pool import GpuPool, GpuPoolArgs, PoolShape
from components.aws.nodes.managers import Managers, ManagersArgs, ManagersShape
from components.aws.nodes.node_role import NodeRole, NodeRoleArgs
from components.aws.reference import ClusterReference
from components.manifest import Manifest, ManifestArgs


@dataclass(frozen=True, kw_only=True)
class NodesArgs:
    managers: ManagersShape
    manager_zones: tuple[str, ...]
    """Other ones make the group anew."""
    pools: tuple[PoolShape, ...]
    cluster: ClusterReference
    security_group_id: pulumi.Input[str]
    subnet_ids: Mapping[str, pulumi.Input[str]]
    """Zone -> private subnet."""
    addon_versions: Mapping[str, str]
    after: tuple[pulumi.Resource, ...]
    """Routes: a node that cannot reach AWS never joins."""
    tags: Mapping[str, str]


class Nodes(pulumi.ComponentResource):
    """Managers, and a group per pool and zone; the add-ons that a node needs come before it."""

    managers: Managers
    pools: tuple[GpuPool, ...]

    def __init__(
        self, name: str, args: NodesArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:aws:Nodes", name, {}, opts)
        self._args, self._child = args, pulumi.ResourceOptions(parent=self)
        role = NodeRole(name, NodeRoleArgs(tags=args.tags), self._child)
        addons = NodeAddOns(
            "node-addons",
            NodeAddOnsArgs(cluster=args.cluster, versions=args.addon_versions, tags=args.tags),
            self._child,
        )
        before = (*args.after, *role.ready, *addons.ready)
        self.managers = Managers(
            "managers",
            ManagersArgs(
                shape=args.managers,
                cluster=args.cluster,
                role_arn=role.arn,
                subnet_ids=[args.subnet_ids[zone] for zone in args.manager_zones],
                after=before,
                tags=args.tags,
            ),
            self._child,
        )
        self.pools = tuple(self._pool(shape, role, before) for shape in args.pools)
        if any(shape.node.efa_interfaces for shape in args.pools):
            self._efa_plugin()
        self.register_outputs({})

    def _pool(
        self, shape: PoolShape, role: NodeRole, after: tuple[pulumi.Resource, ...]
    ) -> GpuPool:
        args = GpuPoolArgs(
            shape=shape,
            cluster=self._args.cluster,
            role_arn=role.arn,
            subnet_ids=self._args.subnet_ids,
            security_group_id=self._args.security_group_id,
            after=after,
            tags=self._args.tags,
        )
        return GpuPool(f"gpu-{shape.pool.name}", args, self._child)

    def _efa_plugin(self) -> Manifest:
        """Makes adapters countable, as the GPU plugin does GPUs."""
        return Manifest(
            "efa-plugin",
            ManifestArgs(file="efa-device-plugin.yaml"),
            pulumi.ResourceOptions(parent=self, providers=[self._args.cluster.kubernetes]),
        )
