"""Promise by cloud: where one is kept by the same check on each, where not, and why."""

from collections.abc import Mapping

from tests.stack.invariants.registry import AWS, GCP, Check

COLUMNS: Mapping[str, Mapping[str, Check]] = {"aws": AWS, "gcp": GCP}
ABSENT: Mapping[str, Mapping[str, str]] = {
    "gcp": {
        "the_autoscaler_is_told_labels_taints_and_gpus_of_every_group": "GKE's own autoscaler "
        "reads the node pool itself",
        "the_autoscaler_promises_no_more_than_pods_get": "GKE's own autoscaler knows what it keeps",
        "every_node_answers_imdsv2_one_hop_far": "no_pod_gets_the_nodes_own_identity says it of "
        "Google's metadata server",
        "only_own_spot_nodes_can_be_interrupted": "no role for drills is made there",
        "nothing_crosses_the_network_in_the_clear": "Filestore speaks NFS without encryption of "
        "its own; docs/gcp.md says so",
    },
    "aws": {
        "workers_of_spot_nodes_get_the_notice_that_jobs_are_told_of": "EKS drains a node that AWS "
        "takes back; no setting of the node decides how long that takes",
        "disks_that_come_with_a_machine_are_named": "EKS fills in nothing that it is not told",
        "a_gpu_group_of_another_machine_type_is_another_group": "AWS changes no group's types: the "
        "provider replaces it by itself",
        "every_gpu_group_brings_its_driver": "the image of the nodes has it",
        "no_pod_gets_the_nodes_own_identity": "every_node_answers_imdsv2_one_hop_far",
        "nodes_have_no_public_address_and_boot_what_google_signed": "no_endpoint_is_open_to_the_"
        "world says it of subnets; Amazon Linux with NVIDIA's driver has no secure boot",
        "the_control_plane_has_no_old_or_anonymous_way_in": "tests/stack/aws/test_cluster.py",
        "no_bucket_is_public": "tests/stack/aws/test_bucket.py",
        "a_node_pools_name_fits": "stacks/cloud_rules.py limits the names of pools",
    },
}
"""Cloud -> promise that is checked on another cloud -> why not here, or by what."""
