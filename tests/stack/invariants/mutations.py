"""Each invariant's source, broken once: what the program would register if a line of it were wrong.

The change is made to the recording, where the wrong line would show.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stacks.recorder import Recording, Registration
from tests.stack.invariants.registry import pod_of

Change = Callable[[Recording], None]


@dataclass(frozen=True)
class Mutation:
    invariant: str
    what: str
    change: Change


def _first(recording: Recording, kind: str, name: str) -> Registration:
    """The first resource of a kind whose name starts so."""
    return next(r for r in recording.resources if r.type.endswith(kind) and r.name.startswith(name))


def put(kind: str, name: str, path: str, value: object) -> Change:
    """Sets inputs a.b.0.c of a resource."""

    def change(recording: Recording) -> None:
        *parents, last = [int(p) if p.isdigit() else p for p in path.split("/")]
        node: Any = _first(recording, kind, name).inputs
        for part in parents:
            node = node[part]
        node[last] = value

    return change


def drop(kind: str, name: str, path: str) -> Change:
    """Removes inputs a.b.0.c of a resource."""

    def change(recording: Recording) -> None:
        *parents, last = [int(p) if p.isdigit() else p for p in path.split("/")]
        node: Any = _first(recording, kind, name).inputs
        for part in parents:
            node = node[part]
        del node[last]

    return change


def remove(kind: str, name: str) -> Change:
    """The resource is never registered."""
    return lambda recording: recording.resources.remove(_first(recording, kind, name))


def forget_to_wait(kind: str, name: str, part: str) -> Change:
    """A depends_on is missing."""

    def change(recording: Recording) -> None:
        resource = _first(recording, kind, name)
        resource.depends_on = tuple(urn for urn in resource.depends_on if part not in urn)

    return change


def alter(kind: str, name: str, **attributes: object) -> Change:
    """Another resource option."""

    def change(recording: Recording) -> None:
        resource = _first(recording, kind, name)
        for attribute, value in attributes.items():
            setattr(resource, attribute, value)

    return change


def replace(kind: str, name: str, key: str, old: str, new: str) -> Change:
    """Another text inside a JSON input."""

    def change(recording: Recording) -> None:
        inputs = _first(recording, kind, name).inputs
        assert old in inputs[key], f"{old} is not in {name}.{key}"
        inputs[key] = inputs[key].replace(old, new, 1)

    return change


def twice(kind: str, name: str) -> Change:
    """A name is used for two resources."""
    return lambda recording: recording.resources.append(_first(recording, kind, name))


def on_container(kind: str, name: str, change: Callable[[dict[str, Any]], object]) -> Change:
    """Something about the first container of a workload."""

    def apply(recording: Recording) -> None:
        pod = pod_of(_first(recording, kind, name).inputs)
        assert pod is not None
        change(pod["containers"][0])

    return apply


GROUP, TEMPLATE, TAG = ":NodeGroup", ":LaunchTemplate", "autoscaling/tag:Tag"
DEPLOYMENT, PLANE = ":Deployment", "eks:index:Cluster"
WORKER = "gpu-t4-us-east-1a"
LABEL = f"{WORKER}-label/spotrain.dev/pool"

PLATFORM = [
    Mutation(
        "every_resource_is_in_a_component",
        "a resource without parent",
        alter(DEPLOYMENT, "elastic-jobs", parent=""),
    ),
    Mutation("every_urn_is_registered_once", "a name twice", twice(DEPLOYMENT, "elastic-jobs")),
    Mutation(
        "no_kubeconfig_is_plain",
        "a kubeconfig that is no secret",
        put("providers:kubernetes", "", "kubeconfig", "apiVersion: v1"),
    ),
    Mutation(
        "no_password_is_plain",
        "Grafana's password",
        put(":Secret", "metrics-password", "stringData", {"admin-password": "hunter2"}),
    ),
    Mutation(
        "every_object_goes_to_the_cluster_of_the_stack",
        "the ambient kubeconfig",
        alter(DEPLOYMENT, "elastic-jobs", provider=""),
    ),
    Mutation(
        "what_others_read_is_never_taken_away_to_be_changed",
        "the provider's default",
        drop("providers:kubernetes", "", "enableConfigMapMutable"),
    ),
    Mutation(
        "what_pods_of_jobs_may_not_ask_for_is_refused_in_their_namespace",
        "the label of the namespace",
        put(":Namespace", "jobs-namespace", "metadata/labels", {}),
    ),
    Mutation(
        "what_pods_of_jobs_may_not_ask_for_is_refused_in_their_namespace",
        "a policy that only warns",
        put(":ValidatingAdmissionPolicyBinding", "jobs", "spec/validationActions", ["Warn"]),
    ),
    Mutation(
        "every_object_is_valid_at_the_clusters_version",
        "a misspelled field",
        put(DEPLOYMENT, "elastic-jobs", "spec/replica", 1),
    ),
    Mutation(
        "every_container_is_limited_and_unprivileged",
        "no limits",
        on_container(DEPLOYMENT, "elastic-jobs", lambda c: c["resources"].pop("limits")),
    ),
    Mutation(
        "every_container_is_limited_and_unprivileged",
        "capabilities kept",
        on_container(DEPLOYMENT, "elastic-jobs", lambda c: c["securityContext"].clear()),
    ),
    Mutation(
        "no_right_in_the_cluster_is_a_wildcard",
        "every verb",
        put(":ClusterRole", "elastic-jobs", "rules/0/verbs", ["*"]),
    ),
    Mutation(
        "the_controller_comes_after_what_it_serves",
        "a depends_on of the controller",
        forget_to_wait(DEPLOYMENT, "elastic-jobs", "elastic-jobs-crd"),
    ),
    Mutation(
        "the_controller_comes_after_what_it_serves",
        "the pools come later",
        forget_to_wait(DEPLOYMENT, "elastic-jobs", "elastic-jobs-pools"),
    ),
]

NODES = [
    Mutation(
        "no_gpu_group_spans_zones",
        "two subnets",
        put(GROUP, WORKER, "subnetIds", ["a", "b"]),
    ),
    Mutation("every_gpu_group_is_tainted", "a taint", put(GROUP, WORKER, "taints", [])),
    Mutation(
        "every_gpu_group_is_tainted",
        "another effect",
        put(GROUP, WORKER, "taints/0/effect", "PREFER_NO_SCHEDULE"),
    ),
    Mutation(
        "the_autoscaler_is_told_labels_taints_and_gpus_of_every_group",
        "a label's tag",
        remove(TAG, LABEL),
    ),
    Mutation(
        "the_autoscaler_is_told_labels_taints_and_gpus_of_every_group",
        "the taint's tag",
        remove(TAG, f"{WORKER}-taint/"),
    ),
    Mutation(
        "the_autoscaler_is_told_labels_taints_and_gpus_of_every_group",
        "the GPUs' tag",
        remove(TAG, f"{WORKER}-resources/nvidia.com/gpu"),
    ),
    Mutation(
        "the_autoscaler_promises_no_more_than_pods_get",
        "the whole memory",
        put(TAG, f"{WORKER}-resources/memory", "tag/value", "16384Mi"),
    ),
    Mutation(
        "the_autoscaler_promises_no_more_than_pods_get",
        "the CPU's tag",
        remove(TAG, f"{WORKER}-resources/cpu"),
    ),
    Mutation("jobs_are_offered_the_groups_that_exist", "a group", remove(GROUP, WORKER)),
    Mutation(
        "jobs_are_offered_the_groups_that_exist",
        "another limit",
        put(GROUP, WORKER, "scalingConfig/maxSize", 99),
    ),
    Mutation(
        "every_gpu_group_starts_at_zero_and_keeps_the_autoscalers_size",
        "a node that nobody needs",
        put(GROUP, WORKER, "scalingConfig/desiredSize", 1),
    ),
    Mutation(
        "every_gpu_group_starts_at_zero_and_keeps_the_autoscalers_size",
        "an ignore_changes",
        alter(GROUP, WORKER, ignore_changes=()),
    ),
    Mutation(
        "an_update_of_a_full_group_is_waited_for",
        "the provider's default",
        alter(GROUP, WORKER, update_timeout=""),
    ),
    Mutation(
        "every_node_answers_imdsv2_one_hop_far",
        "IMDSv1",
        put(TEMPLATE, "gpu-t4", "metadataOptions/httpTokens", "optional"),
    ),
    Mutation(
        "every_node_answers_imdsv2_one_hop_far",
        "two hops",
        put(TEMPLATE, "managers", "metadataOptions/httpPutResponseHopLimit", 2),
    ),
    Mutation(
        "every_node_answers_imdsv2_one_hop_far",
        "a group without template",
        drop(GROUP, WORKER, "launchTemplate"),
    ),
    Mutation(
        "nodes_wait_for_what_they_need_to_join",
        "the pod network comes later",
        forget_to_wait(GROUP, WORKER, "node-addons-network"),
    ),
    Mutation(
        "every_workload_waits_for_a_node_to_run_on",
        "a depends_on of the autoscaler",
        forget_to_wait(DEPLOYMENT, "autoscaler", "managers-group"),
    ),
    Mutation(
        "managers_are_on_demand_in_two_zones_without_a_taint",
        "spot managers",
        put(GROUP, "managers", "capacityType", "SPOT"),
    ),
]

SECURITY = [
    Mutation(
        "no_iam_action_is_a_wildcard",
        "every action of a service",
        replace(":RolePolicy", "autoscaler", "policy", "eks:DescribeNodegroup", "eks:*"),
    ),
    Mutation(
        "a_wildcard_resource_has_a_reason",
        "a resource that nobody justified",
        put(
            ":RolePolicy",
            "prices",
            "policy",
            '{"Statement": [{"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": ["*"]}]}',
        ),
    ),
    Mutation(
        "only_named_pods_and_services_assume_a_role",
        "any namespace",
        replace(
            ":Role", "autoscaler", "assumeRolePolicy", "aws:RequestTag/kubernetes-namespace", "x"
        ),
    ),
    Mutation(
        "only_named_pods_and_services_assume_a_role",
        "any account's cluster",
        replace(":Role", "cluster", "assumeRolePolicy", "aws:SourceAccount", "aws:Something"),
    ),
    Mutation(
        "no_endpoint_is_open_to_the_world",
        "the API for everybody",
        put(PLANE, "cluster", "publicAccessCidrs", ["0.0.0.0/0"]),
    ),
    Mutation(
        "no_endpoint_is_open_to_the_world",
        "NFS for everybody",
        put(":SecurityGroupIngressRule", "storage", "cidrIpv4", "0.0.0.0/0"),
    ),
    Mutation(
        "the_endpoint_is_what_the_stack_file_says",
        "a public endpoint",
        put(PLANE, "cluster", "endpointPublicAccess", True),
    ),
    Mutation(
        "nothing_that_stores_bytes_is_unencrypted",
        "a plain file system",
        put(":FileSystem", "storage", "encrypted", False),
    ),
    Mutation(
        "nothing_that_stores_bytes_is_unencrypted",
        "a plain disk",
        put(TEMPLATE, "gpu-t4", "blockDeviceMappings/0/ebs/encrypted", "false"),
    ),
    Mutation(
        "nothing_that_stores_bytes_is_unencrypted",
        "a plain disk of the metrics",
        drop("ebs/volume:Volume", "block-storage", "encrypted"),
    ),
    Mutation(
        "nothing_crosses_the_network_in_the_clear",
        "a mount without TLS",
        put(":PersistentVolume", "shared", "spec/mountOptions", []),
    ),
    Mutation(
        "nothing_crosses_the_network_in_the_clear",
        "a policy that asks for no TLS",
        replace(":FileSystemPolicy", "storage", "policy", "aws:SecureTransport", "aws:Something"),
    ),
]

NAMES = [
    Mutation(
        "every_taggable_resource_carries_project_and_stack",
        "a tag",
        drop(":FileSystem", "storage", "tags/stack"),
    ),
    Mutation(
        "a_physical_name_has_a_reason_and_a_random_part",
        "a name",
        put(":Role", "autoscaler", "name", "autoscaler"),
    ),
    Mutation(
        "a_physical_name_has_a_reason_and_a_random_part",
        "a name that another stack may have",
        put(PLANE, "cluster", "name", "spotrain"),
    ),
    Mutation(
        "every_resource_is_in_the_stack_files_region",
        "the default provider",
        alter(":FileSystem", "storage", provider=""),
    ),
    Mutation(
        "what_a_stack_retains_is_everything_that_the_data_needs",
        "the key goes with the stack",
        alter("kms/key:Key", "storage", retain_on_delete=False),
    ),
]

MUTATIONS = [*PLATFORM, *NODES, *SECURITY, *NAMES]
