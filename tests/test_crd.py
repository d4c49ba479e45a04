"""The schema that the API server enforces says what spotrain.job says."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given

from spotrain import contract
from spotrain.cli.job_rows import COLUMNS
from spotrain.controller.status import JobStatus
from spotrain.job import parse_job, parse_pools
from spotrain.job.spec import Document, RunPolicy
from spotrain.ledger.settlement import NEWEST
from tests.controller.ledger_example import ACCOUNT, WORLD
from tests.controller.test_status import statuses
from tests.test_job import document
from tests.upstream import IMAGENET

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "k8s" / "examples").glob("*.yaml"))
CRD: dict[str, Any] = yaml.safe_load((ROOT / "k8s" / "crd.yaml").read_text())
VERSION: dict[str, Any] = CRD["spec"]["versions"][0]
SCHEMA: dict[str, Any] = VERSION["schema"]["openAPIV3Schema"]
PRESERVE = "x-kubernetes-preserve-unknown-fields"
Facts = dict[str, dict[str, Any]]


def strict(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema as strict field validation reads it: what it does not know, it refuses."""
    out = dict(schema)
    if "properties" in out:
        out["properties"] = {key: strict(below) for key, below in out["properties"].items()}
        if not out.get(PRESERVE):
            out["additionalProperties"] = False
    if "items" in out:
        out["items"] = strict(out["items"])
    if out.pop("nullable", False):
        out["type"] = [out["type"], "null"]
    if out.get("exclusiveMinimum") is True:  # OpenAPI's spelling
        out["exclusiveMinimum"] = out.pop("minimum")
    if out.get("format") not in ("date-time", None):
        out.pop("format")
    return out


def schema_of(*, metadata: bool = True) -> dict[str, Any]:
    """All of it; the API server checks metadata by its own schema."""
    whole = strict(SCHEMA)
    if metadata:
        whole["properties"]["metadata"] = {"type": "object"}
    return whole


def walk(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for key, below in schema.get("properties", {}).items():
        yield from walk(below, f"{path}.{key}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from walk(schema[key], f"{path}[]")


def facts_of_the_crd() -> Facts:
    """Path -> what the CRD says of a field of the spec, the pod template left out."""
    facts: Facts = {}
    for path, schema in walk(SCHEMA["properties"]["spec"], "spec"):
        if ".template." in path:
            continue
        bounds = {key: schema[key] for key in ("minimum", "maximum") if key in schema}
        kept = ("type", "enum", "pattern", "maxLength", "exclusiveMinimum")
        required = sorted(schema.get("required", []))
        facts[path] = bounds | {key: schema[key] for key in kept if key in schema}
        facts[path] |= {"default": schema.get("default"), "required": required}
        facts[path]["fields"] = sorted(schema.get("properties", {}))
    return facts


def facts_of_the_types() -> Facts:
    """The same, from the pydantic models."""
    whole = Document.model_json_schema(by_alias=True)

    def resolved(schema: dict[str, Any]) -> dict[str, Any]:
        name = schema.get("$ref", "").removeprefix("#/$defs/")
        options = [o for o in schema.get("anyOf", []) if o != {"type": "null"}]
        base = whole["$defs"][name] if name else resolved(options[0]) if options else {}
        return {**base, **{k: v for k, v in schema.items() if k not in ("$ref", "anyOf")}}

    def visit(schema: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
        schema = resolved(schema)
        yield path, schema
        for key, below in schema.get("properties", {}).items():
            yield from visit(below, f"{path}.{key}")
        if "items" in schema:
            yield from visit(schema["items"], f"{path}[]")

    facts: Facts = {}
    for path, schema in visit(whole["properties"]["spec"], "spec"):
        kept = ("type", "enum", "pattern", "maxLength", "minimum", "maximum")
        facts[path] = {key: schema[key] for key in kept if key in schema}
        if "exclusiveMinimum" in schema:
            facts[path] |= {"minimum": schema["exclusiveMinimum"], "exclusiveMinimum": True}
        default = schema.get("default")
        # A section that is left out has the defaults of its fields; the CRD says {} for that.
        facts[path]["default"] = {} if isinstance(default, dict) else default
        facts[path]["required"] = sorted(schema.get("required", []))
        facts[path]["fields"] = sorted(schema.get("properties", {}))
    return facts


def test_the_crd_and_the_types_know_the_same_fields() -> None:
    ours, theirs = facts_of_the_types(), facts_of_the_crd()
    assert sorted(ours) == sorted(theirs)


RUN_POLICY = {f"spec.{field.alias}" for field in RunPolicy.model_fields.values()}


@pytest.mark.acceptance(7)
@pytest.mark.parametrize("path", sorted(facts_of_the_types()))
def test_a_field_has_one_type_one_range_and_one_default(path: str) -> None:
    ours, theirs = facts_of_the_types()[path], facts_of_the_crd()[path]
    if any(path.endswith(suffix.removeprefix("spec")) for suffix in RUN_POLICY):
        # A default in the schema would look like a spelling that the user wrote.
        assert theirs["default"] is None
        ours = {**ours, "default": None}
    if path.endswith(".template"):
        theirs = {**theirs, "required": [], "fields": []}
    assert ours == theirs


def test_group_version_and_names_are_the_contracts() -> None:
    assert CRD["metadata"]["name"] == f"{contract.PLURAL}.{contract.GROUP}"
    assert CRD["spec"]["group"] == contract.GROUP
    assert CRD["spec"]["names"]["kind"] == contract.KIND
    assert CRD["spec"]["names"]["shortNames"] == ["ej"]
    assert VERSION["name"] == contract.VERSION


@pytest.mark.acceptance(25, 40)
def test_status_and_scale_are_subresources_at_paths_that_exist() -> None:
    scale = VERSION["subresources"]["scale"]
    assert VERSION["subresources"]["status"] == {}
    known = {path for path, _ in walk(SCHEMA)}
    assert scale["specReplicasPath"] in known
    assert scale["labelSelectorPath"] in known
    assert scale["statusReplicasPath"].replace(".Worker", "[]") in known


@pytest.mark.acceptance(40)
def test_the_columns_are_upstreams_wish_list_and_show_fields_that_exist() -> None:
    columns = VERSION["additionalPrinterColumns"]
    narrow = [column["name"] for column in columns if not column.get("priority")]
    assert narrow == ["Min", "Max", "Desired", "Ready", "State", "Restarts", "Age"]
    known = {path for path, _ in walk(SCHEMA)} | {".metadata.creationTimestamp"}
    paths = {c["jsonPath"].replace("replicaStatuses.Worker", "replicaStatuses[]") for c in columns}
    assert paths <= known


def test_the_columns_of_spotrain_list_are_those_that_the_server_picks() -> None:
    paths = {column["name"]: column["jsonPath"] for column in VERSION["additionalPrinterColumns"]}
    assert {name: "." + ".".join(path) for name, path in COLUMNS.items()}.items() <= paths.items()


@pytest.mark.acceptance(40)
def test_every_field_is_explained() -> None:
    elements = {path for path, _ in walk(SCHEMA) if path.endswith("[]")}
    unexplained = [path for path, schema in walk(SCHEMA) if not schema.get("description")]
    assert set(unexplained) - elements <= {".metadata"}, "the API server forbids one of metadata"


@pytest.mark.acceptance(1)
def test_the_schema_is_structural() -> None:
    untyped = [path for path, schema in walk(SCHEMA) if "type" not in schema]
    assert untyped == []


@pytest.mark.acceptance(8)
def test_every_rule_says_what_to_do() -> None:
    rules = list(
        itertools.chain.from_iterable(
            schema.get("x-kubernetes-validations", []) for _, schema in walk(SCHEMA)
        )
    )
    assert len(rules) >= 9
    assert [rule["rule"] for rule in rules if ";" not in rule["message"]] == []


@pytest.mark.acceptance(9)
def test_conditions_are_a_map_by_type() -> None:
    conditions = SCHEMA["properties"]["status"]["properties"]["conditions"]
    assert conditions["x-kubernetes-list-type"] == "map"
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]


def test_the_schema_of_the_ledger_has_each_of_its_fields_and_no_other() -> None:
    whole = JobStatus(history=(WORLD,), ledger=ACCOUNT).to_document()
    properties = SCHEMA["properties"]["status"]["properties"]
    for part in ("ledger", "history"):
        described = {path for path, schema in walk(properties[part]) if schema["type"] != "array"}
        assert described == {path for path, _ in values(whole[part])}


def test_as_many_worlds_fit_as_are_kept() -> None:
    history = SCHEMA["properties"]["status"]["properties"]["history"]
    assert history["maxItems"] == NEWEST


def values(document: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each mapping and plain value in it, under the path that `walk` gives its schema."""
    if isinstance(document, list):
        for item in document:
            yield from values(item, f"{path}[]")
        return
    yield path, document
    for key, below in document.items() if isinstance(document, dict) else ():
        yield from values(below, f"{path}.{key}")


@given(statuses)
def test_every_status_that_is_written_fits_the_schema(status: JobStatus) -> None:
    jsonschema.validate(status.to_document(), strict(SCHEMA["properties"]["status"]))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_is_valid(path: Path) -> None:
    for written in yaml.safe_load_all(path.read_text()):
        if written["kind"] == contract.KIND:
            jsonschema.validate(written, schema_of())
            assert parse_job(written).name == path.stem
        elif written["kind"] == "ConfigMap":
            assert written["metadata"]["name"] == contract.POOLS_CONFIGMAP
            assert written["metadata"]["namespace"] == contract.SYSTEM_NAMESPACE
            assert parse_pools(written["data"][contract.POOLS_KEY])


def test_the_example_asks_for_what_the_example_pools_offer() -> None:
    job = parse_job(yaml.safe_load((ROOT / "k8s/examples/digits.yaml").read_text()))
    pools = yaml.safe_load((ROOT / "k8s/examples/pools.yaml").read_text())
    offered = parse_pools(pools["data"][contract.POOLS_KEY])
    assert job.placement.gpu in {pool.gpu for pool in offered}
    assert job.gpus_per_worker == 1


def test_the_example_uses_the_volume_and_the_namespace_that_the_stack_makes() -> None:
    written = yaml.safe_load((ROOT / "k8s/examples/digits.yaml").read_text())
    stack = yaml.safe_load((ROOT / "stacks/Pulumi.dev.yaml").read_text())
    spec = written["spec"]["replicaSpecs"]["Worker"]["template"]["spec"]
    (volume,) = spec["volumes"]
    (mount,) = spec["containers"][0]["volumeMounts"]
    assert volume["persistentVolumeClaim"]["claimName"] == contract.VOLUME_CLAIM
    assert mount["mountPath"] == contract.VOLUME_MOUNT
    settings = stack["config"]["spotrain:settings"]
    assert written["metadata"]["namespace"] == settings["jobs"]["namespace"]


@pytest.mark.acceptance(1, 6)
@pytest.mark.parametrize(
    "written",
    [
        pytest.param(IMAGENET, id="upstreams-form"),
        pytest.param(document(budget={"maxDollars": None}), id="no-budget"),
        pytest.param(document(RunPolicy={"cleanPodPolicy": "None"}), id="as-upstream-wrote-back"),
    ],
)
def test_what_the_types_accept_the_schema_accepts(written: dict[str, Any]) -> None:
    parse_job(written)
    jsonschema.validate(written, schema_of())


@pytest.mark.acceptance(8)
@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"minReplica": 1}, id="unknown-field"),
        pytest.param({"minReplicas": 0}, id="min-0"),
        pytest.param({"cleanPodPolicy": "Some"}, id="unknown-policy"),
        pytest.param({"ttlSecondsAfterFinished": -1}, id="negative"),
        pytest.param({"budget": {"maxDollars": 0}}, id="no-dollars"),
        pytest.param({"worker": {"template": {"spec": {"containers": []}}}}, id="no-containers"),
    ],
)
def test_what_the_types_refuse_the_schema_refuses(spec: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document(**spec), schema_of())
