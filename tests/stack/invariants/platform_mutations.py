"""What breaks an invariant that holds on every cloud."""

from tests.stack.invariants.changes import (
    Mutation,
    alter,
    drop,
    forget_to_wait,
    on_container,
    put,
    twice,
)

DEPLOYMENT = ":Deployment"

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
