"""The process kubelet alone: what a pod's specification says happens to its processes."""

import pytest

from spotrain.kinds import CONFIG_MAPS, PODS, SECRETS, Object
from spotrain.local.kubelet import Kubelet
from tests.cluster.cluster import Namespace
from tests.cluster.nodes.pods import ended, in_phase, logs, pod, run, until_pod

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("node")]


async def test_a_pod_runs_where_the_scheduler_puts_it_and_tells_how_it_ended(
    place: Namespace, kubelet: Kubelet, node: str
) -> None:
    over = await run(place, pod("a", "echo hello; exit 3"))

    assert over["spec"]["nodeName"] == node
    assert over["status"]["phase"] == "Failed"
    assert ended(over)["exitCode"] == 3
    assert ended(over)["reason"] == "Error"
    assert over["status"]["podIP"].startswith("127.")
    conditions = {c["type"]: c["status"] for c in over["status"]["conditions"]}
    assert conditions["PodScheduled"] == "True"
    assert conditions["Ready"] == "False"
    assert logs(kubelet, place, "a") == "hello\n"


async def test_variables_come_from_all_their_places(
    place: Namespace, kubelet: Kubelet, node: str
) -> None:
    settings = {"metadata": {"name": "settings"}, "data": {"LEVEL": "high"}}
    await place.kube.create(CONFIG_MAPS, place.name, settings)
    key = {"metadata": {"name": "key"}, "stringData": {"word": "open sesame"}}
    await place.kube.create(SECRETS, place.name, key)
    variables = [
        {"name": "PLAIN", "value": "1"},
        {"name": "TWICE", "value": "$(PLAIN)$(PLAIN) $$(PLAIN) $(NONE)"},
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "NOTE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['note']"}}},
        {"name": "WORD", "valueFrom": {"secretKeyRef": {"name": "key", "key": "word"}}},
        {"name": "MEMORY", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}},
    ]
    container = {
        "command": ["sh", "-c"],
        "args": ['echo "$LEVEL|$TWICE|$NODE|$IP|$NOTE|$WORD|$MEMORY|$(PLAIN)|$HOSTNAME"'],
        "env": variables,
        "envFrom": [{"configMapRef": {"name": "settings"}}],
        "resources": {"limits": {"memory": "1Mi"}},
    }
    over = await run(place, pod("b", "", container=container))

    ip = over["status"]["podIP"]
    told = f"high|11 $(PLAIN) $(NONE)|{node}|{ip}|a b|open sesame|1048576|1|b\n"
    assert logs(kubelet, place, "b") == told


async def test_a_pod_waits_for_what_its_volumes_need(place: Namespace, kubelet: Kubelet) -> None:
    script = 'cat "$0"; echo; head -c 3 "$1"; echo saved > "$2"'
    paths = ["/etc/settings/level", "/var/run/mine/token", "/out/x/y"]
    mounts = [
        {"name": "settings", "mountPath": "/etc/settings"},
        {"name": "mine", "mountPath": "/var/run/mine"},
        {"name": "efs", "mountPath": "/out", "subPath": "runs"},
    ]
    token = {"serviceAccountToken": {"path": "token", "audience": "me", "expirationSeconds": 600}}
    items = [{"key": "LEVEL", "path": "level"}]
    volumes = [
        {"name": "settings", "configMap": {"name": "late", "items": items}},
        {"name": "mine", "projected": {"sources": [token]}},
        {"name": "efs", "persistentVolumeClaim": {"claimName": "efs"}},
    ]
    await place.claim("efs")
    (kubelet.options.claims["efs"] / "runs" / "x").mkdir(parents=True)
    container = {"command": ["sh", "-c", script, *paths], "volumeMounts": mounts}
    document = pod("c", "", volumes=volumes, container=container)
    await place.kube.create(PODS, place.name, document)

    def is_waiting(one: Object) -> bool:
        statuses = one["status"].get("containerStatuses") or [{"state": {}}]
        reason = (statuses[0]["state"].get("waiting") or {}).get("reason")
        return bool(reason == "CreateContainerConfigError")

    await until_pod(place.kube, place.name, "c", is_waiting)
    late = {"metadata": {"name": "late"}, "data": {"LEVEL": "9000"}}
    await place.kube.create(CONFIG_MAPS, place.name, late)

    over = await until_pod(place.kube, place.name, "c", in_phase("Succeeded"))
    assert ended(over)["exitCode"] == 0
    assert logs(kubelet, place, "c") == "9000\neyJ"  # a JSON Web Token begins so
    assert (kubelet.options.claims["efs"] / "runs" / "x" / "y").read_text() == "saved\n"
    assert not list(kubelet.options.folder.glob("pods/*_c_*/volumes"))


async def test_init_containers_run_one_after_the_other_and_before_the_rest(
    place: Namespace, kubelet: Kubelet
) -> None:
    shared = [{"name": "scratch", "mountPath": "/scratch"}]
    write = {"image": "any", "volumeMounts": shared, "workingDir": "/scratch"}
    document = pod(
        "d",
        "cat order; sleep 0",
        container={"volumeMounts": shared, "workingDir": "/scratch"},
        initContainers=[
            {"name": "one", "command": ["sh", "-c", "sleep 0.3; echo 1 >> order"], **write},
            {"name": "two", "command": ["sh", "-c", "echo 2 >> order"], **write},
        ],
        volumes=[{"name": "scratch", "emptyDir": {}}],
    )
    over = await run(place, document)
    assert over["status"]["phase"] == "Succeeded"
    assert logs(kubelet, place, "d") == "1\n2\n"


async def test_an_init_container_that_fails_ends_the_pod(place: Namespace) -> None:
    first = {"name": "one", "image": "any", "command": ["sh", "-c", "exit 4"]}
    over = await run(place, pod("e", "echo never", initContainers=[first]))
    assert over["status"]["phase"] == "Failed"
    assert over["status"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 4
    assert "waiting" in over["status"]["containerStatuses"][0]["state"]


async def test_a_container_that_fails_starts_again_until_it_succeeds(place: Namespace) -> None:
    again = "test -e ran && exit 0; touch ran; exit 1"
    shared = {
        "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
        "workingDir": "/scratch",
    }
    volumes = [{"name": "scratch", "emptyDir": {}}]
    document = pod("f", again, restartPolicy="OnFailure", container=shared, volumes=volumes)
    over = await run(place, document)
    status = over["status"]["containerStatuses"][0]
    assert over["status"]["phase"] == "Succeeded"
    assert status["restartCount"] == 1
    assert status["lastState"]["terminated"]["exitCode"] == 1


async def test_the_termination_message_is_what_the_container_wrote_or_the_end_of_its_log(
    place: Namespace,
) -> None:
    word = {"command": ["sh", "-c", 'echo why > "$0"; exit 1', "/dev/termination-log"]}
    assert ended(await run(place, pod("j", "", container=word)))["message"] == "why\n"
    fallback = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    over = await run(place, pod("k", "echo the end; exit 1", container=fallback))
    assert ended(over)["message"] == "the end\n"


async def test_a_pod_finds_its_own_name_in_its_hosts_file(
    place: Namespace, kubelet: Kubelet
) -> None:
    aliases = [{"ip": "127.9.9.9", "hostnames": ["elsewhere"]}]
    over = await run(
        place, pod("l", "getent hosts $(hostname) elsewhere service.example", hostAliases=aliases)
    )
    found = [line.split() for line in logs(kubelet, place, "l").splitlines()]
    assert found == [
        [over["status"]["podIP"], "l"],
        ["127.9.9.9", "elsewhere"],
        ["127.8.8.8", "service.example"],
    ]


async def test_what_nothing_here_would_carry_out_is_refused_with_its_name(
    place: Namespace,
) -> None:
    probe = {"readinessProbe": {"exec": {"command": ["true"]}}}
    over = await run(place, pod("m", "sleep 1000", container=probe))
    assert over["status"]["reason"] == "NotLocal"
    assert "readinessProbe" in over["status"]["message"]
