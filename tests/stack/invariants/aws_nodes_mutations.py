"""What breaks an invariant of nodes on AWS."""

from tests.stack.invariants.changes import Mutation, alter, drop, forget_to_wait, put, remove

WORKER = "gpu-t4-us-east-1a"
LABEL = f"{WORKER}-label/spotrain.dev/pool"
GROUP, PLANE = ":NodeGroup", "eks:index:Cluster"
TEMPLATE = ":LaunchTemplate"
TAG = "autoscaling/tag:Tag"
DEPLOYMENT = ":Deployment"

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
    Mutation(
        "the_cluster_has_the_stacks_nodes_and_no_others",
        "a group of EKS's component",
        put(PLANE, "", "skipDefaultNodeGroup", False),
    ),
    Mutation(
        "an_update_takes_a_gpu_node_away_first_and_brings_a_manager_first",
        "EKS's default",
        drop(GROUP, WORKER, "updateConfig/updateStrategy"),
    ),
    Mutation(
        "an_update_takes_a_gpu_node_away_first_and_brings_a_manager_first",
        "a manager goes before another is there",
        put(GROUP, "managers", "updateConfig/updateStrategy", "MINIMAL"),
    ),
    Mutation(
        "versions_are_those_of_the_stack_file",
        "an older group",
        put(GROUP, WORKER, "version", "1.35"),
    ),
    Mutation(
        "the_cluster_is_protected_as_the_stack_file_says",
        "nothing is said",
        drop(PLANE, "", "deletionProtection"),
    ),
]
