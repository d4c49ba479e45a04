"""What holds on every cloud."""

import json
from collections.abc import Iterator

from kubernetes_validate import ValidationError, validate

from components.manifest import ADMISSION, OPERATOR
from stacks.recorder import MASK, STACK_TYPE
from tests.stack.invariants.registry import Built, on_every_cloud, pod_of, strings, version_of

CONTROLLER = "elastic-jobs-controller"


@on_every_cloud
def every_resource_is_in_a_component(built: Built) -> Iterator[str]:
    for resource in built.recording.resources:
        if not resource.parent:
            yield f"{resource.name} has no parent"
        if resource.custom and f"::{STACK_TYPE}::" in resource.parent:
            yield f"{resource.name} stands outside every component"


@on_every_cloud
def every_urn_is_registered_once(built: Built) -> Iterator[str]:
    yield from built.recording.duplicates()


@on_every_cloud
def no_kubeconfig_is_plain(built: Built) -> Iterator[str]:
    text = json.dumps([built.recording.document(), built.recording.outputs])
    for word in ("certificate-authority-data", "get-token", "client-key-data"):
        if word in text:
            yield f"{word} stands in plain text"
    for provider in built.of_type("pulumi:providers:kubernetes"):
        kubeconfig = provider.inputs.get("kubeconfig", MASK)
        # The path of a file says nothing that is in it.
        if kubeconfig != MASK and not kubeconfig.startswith(("/", "~/")):
            yield f"{provider.name} has a plain kubeconfig"


@on_every_cloud
def no_password_is_plain(built: Built) -> Iterator[str]:
    for secret in built.of_type("kubernetes:core/v1:Secret"):
        for key in ("data", "stringData"):
            content = secret.inputs.get(key)
            plain = content != MASK and any(value != MASK for value in strings(content))
            if content and plain:
                yield f"{secret.name}.{key} is plain"


@on_every_cloud
def every_object_goes_to_the_cluster_of_the_stack(built: Built) -> Iterator[str]:
    (provider,) = built.of_type("pulumi:providers:kubernetes")
    for resource in built.recording.resources:
        ours = resource.provider.startswith(provider.urn)
        if resource.type.startswith("kubernetes:") and not ours:
            yield f"{resource.name} goes to {resource.provider or 'whatever kubectl points at'}"


@on_every_cloud
def what_others_read_is_never_taken_away_to_be_changed(built: Built) -> Iterator[str]:
    """Pulumi deletes a ConfigMap and makes it again, unless its provider is told otherwise."""
    for provider in built.of_type("pulumi:providers:kubernetes"):
        if str(provider.inputs.get("enableConfigMapMutable")).lower() != "true":
            yield f"{provider.name} replaces ConfigMaps"


@on_every_cloud
def what_pods_of_jobs_may_not_ask_for_is_refused_in_their_namespace(built: Built) -> Iterator[str]:
    (binding,) = built.of_type(f"kubernetes:{ADMISSION}:ValidatingAdmissionPolicyBinding")
    policies = built.of_type(f"kubernetes:{ADMISSION}:ValidatingAdmissionPolicy")
    namespace = built.named("jobs-namespace").inputs["metadata"]
    spec = binding.inputs["spec"]
    asked = spec["matchResources"]["namespaceSelector"]["matchLabels"].items()
    if not asked <= namespace["labels"].items():
        yield f"{namespace['name']} is labelled {namespace['labels']}, and the policy asks {asked}"
    if spec["policyName"] not in {p.inputs["metadata"]["name"] for p in policies}:
        yield f"{spec['policyName']} does not exist"
    if spec["validationActions"] != ["Deny"]:
        yield "nothing is refused"


@on_every_cloud
def every_object_is_valid_at_the_clusters_version(built: Built) -> Iterator[str]:
    version = version_of(built.settings)
    for resource in built.objects():
        if OPERATOR in resource.type:
            continue  # of a kind that comes with the metrics
        masked = {key for key, value in resource.inputs.items() if value == MASK}
        seen = {key: value for key, value in resource.inputs.items() if key not in masked}
        try:
            validate(seen, version, strict=True)
        except ValidationError as error:
            yield f"{resource.name}: {error.message}"


@on_every_cloud
def every_container_is_limited_and_unprivileged(built: Built) -> Iterator[str]:
    for resource in built.objects():
        pod = pod_of(resource.inputs) or {}
        for container in pod.get("containers", []) + pod.get("initContainers", []):
            place = f"{resource.name}/{container['name']}"
            context = container.get("securityContext", {})
            resources = container.get("resources", {})
            if not resources.get("requests") or not resources.get("limits", {}).get("memory"):
                yield f"{place} has no requests or no memory limit"
            if context.get("allowPrivilegeEscalation") is not False:
                yield f"{place} may gain privileges"
            if context.get("capabilities", {}).get("drop") != ["ALL"]:
                yield f"{place} keeps capabilities"


@on_every_cloud
def no_right_in_the_cluster_is_a_wildcard(built: Built) -> Iterator[str]:
    kinds = ("kubernetes:rbac.authorization.k8s.io/v1:ClusterRole",)
    for role in built.of_type(*kinds, kinds[0].replace("ClusterRole", "Role")):
        for rule in role.inputs.get("rules", []):
            if any("*" in rule.get(key, []) for key in ("apiGroups", "resources", "verbs")):
                yield f"{role.name} has a wildcard"


@on_every_cloud
def the_controller_comes_after_what_it_serves(built: Built) -> Iterator[str]:
    """And goes before it: while jobs and their definition exist, so does their controller."""
    needed = " ".join(built.named(CONTROLLER).depends_on)
    for part in (
        "CustomResourceDefinition::elastic-jobs-crd",
        "elastic-jobs-rbac-spotrain-controller",
        "ConfigMap::elastic-jobs-pools",
    ):
        if part not in needed:
            yield f"the controller does not wait for {part}"
