"""What breaks an invariant on Google Cloud."""

from tests.stack.invariants.changes import Mutation, alter, drop, forget_to_wait, put, remove

POOL, PLANE, PROVIDER = ":NodePool", ":Cluster", "providers:gcp"
WORKER = "gpu-t4-us-central1-a"
MEMBER, ROLE, BUCKET = ":IAMMember", ":IAMCustomRole", "storage/bucket:Bucket"
CLASS = ":StorageClass"
PATCH = ":PersistentVolumePatch"

ADMITTED = "masterAuthorizedNetworksConfig"
GCP_BY_ADDRESS_MUTATIONS = [
    Mutation(
        "no_endpoint_is_open_to_the_world",
        "every address is admitted",
        put(PLANE, "cluster-plane", f"{ADMITTED}/cidrBlocks/0/cidrBlock", "0.0.0.0/0"),
    ),
    Mutation(
        "no_endpoint_is_open_to_the_world",
        "every machine in Google's cloud is admitted",
        put(PLANE, "cluster-plane", f"{ADMITTED}/gcpPublicCidrsAccessEnabled", True),
    ),
    Mutation(
        "the_endpoint_is_what_the_stack_file_says",
        "another block",
        put(PLANE, "cluster-plane", f"{ADMITTED}/cidrBlocks/0/cidrBlock", "203.0.113.0/24"),
    ),
]
"""What only a stack whose API has an address can break."""
GCP_MUTATIONS = [
    Mutation(
        "no_gpu_group_spans_zones",
        "two zones",
        put(POOL, WORKER, "nodeLocations", ["us-central1-a", "us-central1-b"]),
    ),
    Mutation("every_gpu_group_is_tainted", "a taint", put(POOL, WORKER, "nodeConfig/taints", [])),
    Mutation("jobs_are_offered_the_groups_that_exist", "a node pool", remove(POOL, WORKER)),
    Mutation(
        "jobs_are_offered_the_groups_that_exist",
        "another limit",
        put(POOL, WORKER, "autoscaling/totalMaxNodeCount", 99),
    ),
    Mutation(
        "jobs_are_offered_the_groups_that_exist",
        "another capacity",
        put(POOL, WORKER, "nodeConfig/spot", False),
    ),
    Mutation(
        "workers_of_spot_nodes_get_the_notice_that_jobs_are_told_of",
        "GKE's default",
        drop(POOL, WORKER, "nodeConfig/kubeletConfig/shutdownGracePeriodSeconds"),
    ),
    Mutation(
        "workers_of_spot_nodes_get_the_notice_that_jobs_are_told_of",
        "more for critical pods",
        put(POOL, WORKER, "nodeConfig/kubeletConfig/shutdownGracePeriodCriticalPodsSeconds", 60),
    ),
    Mutation(
        "workers_of_spot_nodes_get_the_notice_that_jobs_are_told_of",
        "a setting that Google refuses on demand",
        put(
            POOL,
            "gpu-t4-on-demand-us-central1-a",
            "nodeConfig/kubeletConfig/shutdownGracePeriodSeconds",
            120,
        ),
    ),
    Mutation(
        "every_gpu_group_starts_at_zero_and_keeps_the_autoscalers_size",
        "a node that nobody needs",
        put(POOL, WORKER, "autoscaling/totalMinNodeCount", 1),
    ),
    Mutation(
        "every_gpu_group_starts_at_zero_and_keeps_the_autoscalers_size",
        "a count beside the autoscaler's",
        put(POOL, WORKER, "nodeCount", 1),
    ),
    Mutation(
        "every_gpu_group_starts_at_zero_and_keeps_the_autoscalers_size",
        "an ignore_changes",
        alter(POOL, WORKER, ignore_changes=()),
    ),
    Mutation(
        "disks_that_come_with_a_machine_are_named",
        "GKE names them",
        drop(POOL, "gpu-h100-us-central1-a", "nodeConfig/ephemeralStorageLocalSsdConfig"),
    ),
    Mutation(
        "a_gpu_group_of_another_machine_type_is_another_group",
        "the provider's own way",
        alter(POOL, WORKER, replace_on_changes=()),
    ),
    Mutation(
        "every_gpu_group_brings_its_driver",
        "no driver",
        drop(POOL, WORKER, "nodeConfig/guestAccelerators/0/gpuDriverInstallationConfig"),
    ),
    Mutation(
        "an_update_of_a_full_group_is_waited_for",
        "the provider's default",
        alter(POOL, WORKER, update_timeout=""),
    ),
    Mutation(
        "no_pod_gets_the_nodes_own_identity",
        "the node's metadata",
        put(POOL, WORKER, "nodeConfig/workloadMetadataConfig/mode", "GCE_METADATA"),
    ),
    Mutation(
        "no_pod_gets_the_nodes_own_identity",
        "the project's default account",
        drop(POOL, WORKER, "nodeConfig/serviceAccount"),
    ),
    Mutation(
        "nodes_have_no_public_address_and_boot_what_google_signed",
        "a public address",
        put(POOL, WORKER, "networkConfig/enablePrivateNodes", False),
    ),
    Mutation(
        "nodes_have_no_public_address_and_boot_what_google_signed",
        "no secure boot",
        put(POOL, WORKER, "nodeConfig/shieldedInstanceConfig/enableSecureBoot", False),
    ),
    Mutation(
        "nodes_wait_for_what_they_need_to_join",
        "the NAT gateway comes later",
        forget_to_wait(POOL, WORKER, "network-nat"),
    ),
    Mutation(
        "every_workload_waits_for_a_node_to_run_on",
        "a depends_on of the folders",
        forget_to_wait(":Job", "storage-folders", "managers-pool"),
    ),
    Mutation(
        "managers_are_on_demand_in_two_zones_without_a_taint",
        "spot managers",
        put(POOL, "managers", "nodeConfig/spot", True),
    ),
    Mutation(
        "nodes_have_no_public_address_and_boot_what_google_signed",
        "nodes that prove nothing",
        put(PLANE, "cluster-plane", "enableShieldedNodes", False),
    ),
    Mutation(
        "the_cluster_has_the_stacks_nodes_and_no_others",
        "the default pool stays",
        drop(PLANE, "cluster-plane", "removeDefaultNodePool"),
    ),
    Mutation(
        "the_cluster_has_the_stacks_nodes_and_no_others",
        "the project's default account",
        drop(PLANE, "cluster-plane", "nodeConfig/serviceAccount"),
    ),
    Mutation(
        "the_cluster_has_the_stacks_nodes_and_no_others",
        "an ignore_changes",
        alter(PLANE, "cluster-plane", ignore_changes=("initialNodeCount",)),
    ),
    Mutation(
        "the_cluster_has_the_stacks_nodes_and_no_others",
        "pools that nobody asked for",
        put(PLANE, "cluster-plane", "clusterAutoscaling/enabled", True),
    ),
    Mutation(
        "an_update_takes_a_gpu_node_away_first_and_brings_a_manager_first",
        "GKE's default",
        drop(POOL, WORKER, "upgradeSettings"),
    ),
    Mutation(
        "an_update_takes_a_gpu_node_away_first_and_brings_a_manager_first",
        "a manager goes before another is there",
        put(POOL, "managers", "upgradeSettings/maxUnavailable", 1),
    ),
    Mutation(
        "versions_are_those_of_the_stack_file",
        "no channel",
        drop(PLANE, "cluster-plane", "releaseChannel"),
    ),
    Mutation(
        "versions_are_those_of_the_stack_file",
        "a pool that stays where it is",
        put(POOL, WORKER, "version", "1.35.1-gke.1"),
    ),
    Mutation(
        "versions_are_those_of_the_stack_file",
        "a pool that is not upgraded",
        put(POOL, WORKER, "management/autoUpgrade", False),
    ),
    Mutation(
        "the_cluster_is_protected_as_the_stack_file_says",
        "the provider's default",
        drop(PLANE, "cluster-plane", "deletionProtection"),
    ),
    Mutation("a_node_pools_name_fits", "a longer name", put(POOL, WORKER, "name", "x" * 41)),
    Mutation(
        "no_iam_action_is_a_wildcard",
        "every permission of a service",
        put(ROLE, "prices", "permissions", ["compute.*"]),
    ),
    Mutation(
        "no_iam_action_is_a_wildcard",
        "a wide role of Google's",
        put(MEMBER, "node-account", "role", "roles/editor"),
    ),
    Mutation(
        "a_wildcard_resource_has_a_reason",
        "output and everything else",
        drop(":BucketIAMMember", "storage-bucket-write", "condition"),
    ),
    Mutation(
        "only_named_pods_and_services_assume_a_role",
        "everybody",
        put(":BucketIAMMember", "storage-bucket-read", "member", "allUsers"),
    ),
    Mutation(
        "no_endpoint_is_open_to_the_world",
        "public nodes",
        put(PLANE, "cluster-plane", "privateClusterConfig/enablePrivateNodes", False),
    ),
    Mutation(
        "no_endpoint_is_open_to_the_world",
        "an address for everybody",
        put(PLANE, "cluster-plane", "controlPlaneEndpointsConfig/ipEndpointsConfig/enabled", True),
    ),
    Mutation(
        "the_endpoint_is_what_the_stack_file_says",
        "no name",
        put(
            PLANE,
            "cluster-plane",
            "controlPlaneEndpointsConfig/dnsEndpointConfig/allowExternalTraffic",
            False,
        ),
    ),
    Mutation(
        "the_control_plane_has_no_old_or_anonymous_way_in",
        "old rights",
        put(PLANE, "cluster-plane", "enableLegacyAbac", True),
    ),
    Mutation(
        "the_control_plane_has_no_old_or_anonymous_way_in",
        "policies without effect",
        drop(PLANE, "cluster-plane", "datapathProvider"),
    ),
    Mutation(
        "nothing_that_stores_bytes_is_unencrypted",
        "secrets without a key of ours",
        drop(PLANE, "cluster-plane", "databaseEncryption"),
    ),
    Mutation(
        "no_bucket_is_public",
        "a public bucket",
        drop(BUCKET, "storage-bucket", "publicAccessPrevention"),
    ),
    Mutation(
        "every_taggable_resource_carries_project_and_stack",
        "the provider's labels",
        drop(PROVIDER, "", "defaultLabels"),
    ),
    Mutation(
        "every_taggable_resource_carries_project_and_stack",
        "labels of what the driver makes",
        drop(CLASS, "storage-files", "parameters/labels"),
    ),
    Mutation(
        "a_physical_name_has_a_reason_and_a_random_part",
        "a name without random letters",
        put(ROLE, "prices", "roleId", "spotrainPrices"),
    ),
    Mutation(
        "every_resource_is_in_the_stack_files_region",
        "another region",
        put("compute/subnetwork:Subnetwork", "network", "region", "europe-west4"),
    ),
    Mutation(
        "what_a_stack_retains_is_everything_that_the_data_needs",
        "the bucket goes",
        alter(BUCKET, "storage-bucket", retain_on_delete=False),
    ),
    Mutation(
        "what_a_stack_retains_is_everything_that_the_data_needs",
        "the file system goes",
        put(CLASS, "storage-files", "reclaimPolicy", "Delete"),
    ),
    Mutation(
        "what_a_stack_retains_is_everything_that_the_data_needs",
        "the file system goes, as its volume says",
        put(PATCH, "storage-files", "spec/persistentVolumeReclaimPolicy", "Delete"),
    ),
    Mutation(
        "what_a_stack_retains_is_everything_that_the_data_needs",
        "what the volume says is taken back before the claim goes",
        alter(PATCH, "storage-files", retain_on_delete=False),
    ),
    Mutation(
        "what_a_stack_retains_is_everything_that_the_data_needs",
        "the file system's network goes",
        alter("compute/network:Network", "network-vpc", retain_on_delete=False),
    ),
    Mutation(
        "what_a_stack_retains_is_everything_that_the_data_needs",
        "the subnet of who could still read it goes",
        alter("compute/subnetwork:Subnetwork", "network-nodes", retain_on_delete=False),
    ),
]
