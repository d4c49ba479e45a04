"""What breaks an invariant of security, tags or names on AWS."""

from tests.stack.invariants.changes import Mutation, alter, drop, put, replace

TEMPLATE = ":LaunchTemplate"
PLANE = "eks:index:Cluster"

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
        "only_own_spot_nodes_can_be_interrupted",
        "the nodes of everybody",
        replace(":RolePolicy", "drill", "policy", "aws:autoscaling:groupName", "Name"),
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
