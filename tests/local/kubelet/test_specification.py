"""What a kubelet reads out of a pod's specification, without a process or a cluster."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain.local.expansion import expand
from spotrain.local.image import NotLocal
from spotrain.local.kubelet.addresses import address_of
from spotrain.local.kubelet.contents import content_of, termination_message
from spotrain.local.kubelet.environment import NotThere, Sources, build_environment
from spotrain.local.kubelet.fields import amount, resource_value
from spotrain.local.kubelet.references import referenced
from spotrain.local.kubelet.volumes import Places, plan_volumes

SCRATCH = Path("/scratch")
PLACES = Places(scratch=SCRATCH, node=Path("/node"), claims={"efs": Path("/shared")})


def pod(*volumes: dict[str, Any], **container: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "a", "namespace": "b", "uid": "c"},
        "spec": {"containers": [{"name": "main", **container}], "volumes": list(volumes)},
    }


def variables(sources: Sources | None = None, **container: Any) -> dict[str, str]:
    document = pod(**container)
    found = build_environment(document, document["spec"]["containers"][0], sources or Sources(), {})
    return found


def test_names_are_expanded_and_two_dollars_are_one() -> None:
    assert expand("$(A)-$$(A)-$(B)-$A-$", {"A": "1"}) == "1-$(A)-$(B)-$A-$"


@given(st.text())
def test_a_text_without_dollars_stays_as_it_is(text: str) -> None:
    assert expand(text.replace("$", ""), {"A": "1"}) == text.replace("$", "")


def test_later_variables_win_and_may_refer_to_earlier_ones() -> None:
    sources = Sources(config_maps={"m": {"A": b"1", "B": b"2"}})
    env = [{"name": "A", "value": "new"}, {"name": "C", "value": "$(A)$(B)"}]
    found = variables(sources, envFrom=[{"configMapRef": {"name": "m"}}], env=env)
    assert found == {"A": "new", "B": "2", "C": "new2"}


def test_a_missing_object_is_waited_for_unless_it_is_optional() -> None:
    reference = {"name": "none", "key": "k"}
    one = {"name": "A", "valueFrom": {"secretKeyRef": reference}}
    with pytest.raises(NotThere, match='secret "none" not found'):
        variables(env=[one])
    assert variables(env=[{"name": "A", "valueFrom": {"secretKeyRef": reference | OPTIONAL}}]) == {}


OPTIONAL = {"optional": True}


def test_a_field_that_no_pod_has_is_named() -> None:
    with pytest.raises(NotLocal, match=r"metadata\.mood"):
        variables(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.mood"}}}])


def test_resources_are_counted_in_their_divisor_rounded_up() -> None:
    container = {"resources": {"limits": {"cpu": "1500m", "memory": "1Gi"}}}
    assert resource_value(container, {"resource": "limits.cpu"}) == "2"
    mebibytes = {"resource": "limits.memory", "divisor": "1Mi"}
    assert resource_value(container, mebibytes) == "1024"
    with pytest.raises(NotLocal, match="many"):
        amount("many")


def test_each_kind_of_volume_has_its_place() -> None:
    document = pod(
        {"name": "empty", "emptyDir": {}},
        {"name": "efs", "persistentVolumeClaim": {"claimName": "efs"}},
        {"name": "disk", "hostPath": {"path": "/var/lib/x"}},
        {"name": "map", "configMap": {"name": "m", "items": [{"key": "A", "path": "d/a"}]}},
        {"name": "whole", "secret": {"secretName": "s"}},
        {"name": "down", "downwardAPI": {"items": [NAME_ITEM]}},
    )
    sources = Sources(config_maps={"m": {"A": b"1", "B": b"2"}}, secrets={"s": {"x": b"y"}})
    found = plan_volumes(document, sources, PLACES, {})
    assert {name: volume.folder for name, volume in found.items()} == {
        "empty": SCRATCH / "volumes/empty",
        "efs": Path("/shared"),
        "disk": Path("/node/var/lib/x"),
        "map": SCRATCH / "volumes/map",
        "whole": SCRATCH / "volumes/whole",
        "down": SCRATCH / "volumes/down",
    }
    assert found["map"].files == {"d/a": b"1"}
    assert found["whole"].files == {"x": b"y"}
    assert found["down"].files == {"name": b"a"}


NAME_ITEM = {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}


def test_a_projected_volume_holds_all_its_sources() -> None:
    sources = [
        {"serviceAccountToken": {"path": "token", "audience": "x", "expirationSeconds": 700}},
        {"configMap": {"name": "m"}},
        {"downwardAPI": {"items": [NAME_ITEM]}},
    ]
    held = Sources(config_maps={"m": {"A": b"1"}})
    found = plan_volumes(pod({"name": "v", "projected": {"sources": sources}}), held, PLACES, {})
    assert found["v"].files == {"A": b"1", "name": b"a"}
    assert [(token.path, token.audience, token.seconds) for token in found["v"].tokens] == [
        ("token", "x", 700)
    ]


@pytest.mark.parametrize(
    ("volume", "word"),
    [
        ({"name": "v", "nfs": {"server": "s", "path": "/"}}, "nfs"),
        ({"name": "v", "persistentVolumeClaim": {"claimName": "other"}}, "other"),
    ],
)
def test_a_volume_that_only_a_cluster_has_is_named(volume: dict[str, Any], word: str) -> None:
    with pytest.raises(NotLocal, match=word):
        plan_volumes(pod(volume), Sources(), PLACES, {})


def test_all_objects_that_a_pod_refers_to_are_found() -> None:
    projected = {"sources": [{"configMap": {"name": "one"}}, {"secret": {"name": "two"}}]}
    document = pod(
        {"name": "v", "projected": projected},
        {"name": "w", "secret": {"secretName": "three"}},
        env=[{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "four", "key": "k"}}}],
        envFrom=[{"secretRef": {"name": "five"}}],
    )
    assert referenced(document) == {
        ("configMap", "one"),
        ("secret", "two"),
        ("secret", "three"),
        ("configMap", "four"),
        ("secret", "five"),
    }


@given(st.lists(st.uuids(), unique=True, max_size=50))
def test_each_pod_has_an_address_of_its_own_and_keeps_it(uids: list[Any]) -> None:
    taken: dict[str, str] = {}
    for uid in map(str, uids):
        taken[uid] = address_of(uid, set(taken.values()))
    assert len(set(taken.values())) == len(taken)
    assert not any(address.startswith("127.0.") for address in taken.values())
    if uids:
        assert address_of(str(uids[0]), ()) == taken[str(uids[0])]


def test_contents_of_secrets_and_config_maps_are_bytes() -> None:
    assert content_of({"kind": "Secret", "data": {"a": "YQ=="}}) == {"a": b"a"}
    both = {"kind": "ConfigMap", "data": {"a": "b"}, "binaryData": {"c": "YQ=="}}
    assert content_of(both) == {"a": b"b", "c": b"a"}


@pytest.mark.parametrize(
    ("written", "policy", "code", "expected"),
    [
        (b"why", "File", 1, "why"),
        (b"", "File", 1, ""),
        (b"", "FallbackToLogsOnError", 1, "the end"),
        (b"", "FallbackToLogsOnError", 0, ""),
        (b"why", "FallbackToLogsOnError", 1, "why"),
        (b"x" * 5000, "File", 0, "x" * 4096),
    ],
)
def test_the_termination_message_follows_its_policy(
    written: bytes, policy: str, code: int, expected: str
) -> None:
    assert termination_message(written, b"the end", policy=policy, exit_code=code) == expected
