"""The researcher's verbs, with a researcher's rights, against a real API server."""

import asyncio
import signal
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from spotrain import contract, kinds
from tests.cluster.cluster import Namespace, remove
from tests.cluster.command_line import LIMIT_SECONDS, Person
from tests.cluster.researchers import IMAGE, admit_guest, admit_researchers, offer_pools
from tests.cluster.server import ADMIN_TOKEN, GUEST_TOKEN, RESEARCHER, RESEARCHER_TOKEN, ApiServer

pytestmark = pytest.mark.cluster


@pytest.fixture
async def person(namespace: Namespace, tmp_path: Path) -> AsyncIterator[Person]:
    """Nobody acts on the jobs of the namespace: there is no controller."""
    await admit_researchers(namespace)
    await offer_pools(namespace.kube)
    kubeconfig = namespace.server.kubeconfig(namespace.name, RESEARCHER_TOKEN)
    yield Person(kubeconfig, namespace.name, tmp_path)
    await remove(
        namespace.kube, kinds.CONFIG_MAPS, contract.SYSTEM_NAMESPACE, contract.POOLS_CONFIGMAP
    )


async def tell(namespace: Namespace, name: str, **status: Any) -> None:
    """As the controller would."""
    await namespace.kube.patch(
        kinds.JOBS, namespace.name, name, {"status": status}, subresource="status"
    )


async def spec_of(namespace: Namespace, name: str) -> dict[str, Any]:
    spec: dict[str, Any] = (await namespace.kube.get(kinds.JOBS, namespace.name, name))["spec"]
    return spec


async def test_list_shows_every_job_to_people_and_to_programs(
    namespace: Namespace, person: Person
) -> None:
    empty = await person.types("list")
    assert (empty.code, empty.out) == (0, "")
    assert "spotrain submit" in empty.err
    for name in ("digits", "words"):
        await namespace.submit(name, 2)
    progress = {"step": 1234, "at": "2026-01-01T00:00:00Z"}
    await tell(namespace, "words", state="Running", progress=progress)
    table = await person.types("list")
    assert "1,234" in table.out
    assert max(map(len, table.out.splitlines())) <= 80
    assert (await person.types("list", "-o", "name")).out.split() == ["digits", "words"]
    listed = (await person.types("list", "-o", "json")).document
    assert isinstance(listed, list)
    assert [job["step"] for job in listed] == [None, 1234]


async def test_a_job_goes_through_its_life_by_the_verbs(
    namespace: Namespace, person: Person
) -> None:
    """Submitted, scaled, stopped, resumed, described, deleted: each verb names the next."""
    words = ("submit", "exp1", "--gpus", "4", "--gpu-type", "t4", "--min-gpus", "2")
    script = ("--", "imagenet.py", "--lr", "0.1")
    dry = await person.types(*words, "--dry-run", *script)
    assert (await person.types("list", "-o", "name")).out == ""
    sent = await person.types(*words, *script)
    assert (sent.code, sent.err) == (0, "")
    assert "4 workers of 1 GPU (t4, pools t4-spot or t4-on-demand)" in sent.out
    assert "spotrain status exp1" in sent.out
    made = await namespace.kube.get(kinds.JOBS, namespace.name, "exp1")
    assert made["metadata"]["labels"] == {contract.LABEL_RESEARCHER: RESEARCHER}
    shown = yaml.safe_load(dry.out)
    shown["metadata"]["name"] = "twin"
    twin = await namespace.kube.create(kinds.JOBS, namespace.name, shown)
    assert twin["spec"] == made["spec"]
    assert (await person.types("delete", "twin")).code == 0
    (container,) = made["spec"]["replicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    assert (container["image"], container["args"]) == (IMAGE, list(script[1:]))

    assert (await person.types("scale", "exp1", "--gpus", "8")).code == 0
    scaled = await spec_of(namespace, "exp1")
    assert (scaled["replicaSpecs"]["Worker"]["replicas"], scaled["maxReplicas"]) == (8, 8)
    assert (await person.types("stop", "exp1")).code == 0
    assert (await spec_of(namespace, "exp1"))["suspend"] is True
    assert "nothing to do" in (await person.types("stop", "exp1")).out
    assert (await person.types("resume", "exp1")).code == 0
    assert (await spec_of(namespace, "exp1"))["suspend"] is False
    assert "nothing to do" in (await person.types("resume", "exp1")).out
    assert "nothing to do" in (await person.types("scale", "exp1", "--gpus", "8")).out
    described = await person.types("describe", "exp1")
    assert "imagenet.py --lr 0.1" in described.out
    assert max(map(len, described.out.splitlines())) <= 80
    whole = (await person.types("describe", "exp1", "-o", "yaml")).document
    assert isinstance(whole, dict)
    assert whole["kind"] == contract.KIND
    assert (await person.types("delete", "exp1")).out == "deleted exp1\n"
    assert (await person.types("list", "-o", "name")).out == ""


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        pytest.param("status digit", 4, "Did you mean digits?", id="near-name"),
        pytest.param("describe zzz", 4, "There are digits.", id="unknown-name"),
        pytest.param("delete digits zzz", 4, "zzz", id="one-name-of-two"),
        pytest.param("submit digits --gpus 1 --gpu-type t4 -- x.py", 5, "another name", id="taken"),
        pytest.param("submit a --gpus 1 --gpu-type h100 -- x.py", 2, "a100, t4", id="gpu-type"),
        pytest.param("submit a --gpus 1 -- x.py", 2, "a100, t4", id="no-gpu-type"),
        pytest.param("submit a --gpus 9 --gpu-type t4 -- x.py", 2, "--gpus 8", id="too-many"),
        pytest.param("submit A_b --gpus 1 --gpu-type t4 -- x.py", 2, "lower-case", id="bad-name"),
        pytest.param(
            "submit a --gpus 1 --min-gpus 2 --gpu-type t4 -- x.py", 2, "more than", id="min-gpus"
        ),
        pytest.param("submit a --gpus 1 --gpu-type t4 --env X -- x", 2, "NAME=VALUE", id="env"),
        pytest.param("submit a --gpus 1 --gpu-type t4 --budget 0 -- x", 2, "above 0", id="budget"),
        pytest.param("submit a --gpus 1 --gpu-type t4 --pool p -- x", 2, "t4-spot", id="pool"),
        pytest.param("scale digits --gpus 1", 2, "--min-gpus", id="below-min"),
        pytest.param("status ../configmaps/kube-root-ca.crt", 4, "no job '../", id="path-as-name"),
        pytest.param("stop digits/status", 4, "no job 'digits/status'", id="part-as-name"),
        pytest.param("list --namespace ../kube-system", 4, "no namespace", id="path-as-place"),
        pytest.param("status digits?x=y", 4, "no job 'digits?x=y'", id="query-as-name"),
        pytest.param("list --namespace default", 3, "spotrain:researchers", id="no-right"),
        pytest.param("list --context other", 3, "other", id="no-context"),
    ],
)
async def test_what_cannot_be_is_told_in_one_line_and_nothing_is_done(
    namespace: Namespace, person: Person, words: str, code: int, says: str
) -> None:
    before = await namespace.submit("digits", 2)
    refused = await person.types(*words.split())
    assert (refused.code, refused.out) == (code, ""), refused
    assert says in refused.err
    assert refused.err.startswith("spotrain: ")
    assert refused.err.count("\n") == 1
    jobs, _ = await namespace.kube.list_all(kinds.JOBS, namespace.name)
    assert [job["metadata"]["resourceVersion"] for job in jobs] == [
        before["metadata"]["resourceVersion"]
    ]


async def test_every_verb_knows_a_misspelt_name_from_a_missing_cluster(
    namespace: Namespace, person: Person
) -> None:
    """There is no archive either, which alone could know of deleted jobs."""
    await namespace.submit("digits", 2)
    verbs = ("status", "describe", "explain", "stop", "resume", "delete", "scale --gpus 2", "drill")
    for words in verbs:
        refused = await person.types(*words.split(), "digit")
        assert (refused.code, refused.out) == (4, ""), refused
        assert "Did you mean digits?" in refused.err
        assert refused.err.count("\n") == 1
    for words, code, says in (
        ("logs", 4, "digit"),
        ("cost --no-history", 4, "digit"),
        ("checkpoints", 3, "the archive of namespace"),  # which alone sees the volume
    ):
        refused = await person.types(*words.split(), "digit")
        assert (refused.code, refused.out) == (code, ""), refused
        assert says in refused.err
        assert "Traceback" not in refused.err


async def test_who_may_only_look_changes_nothing_and_is_told_whom_to_ask(
    namespace: Namespace, person: Person
) -> None:
    before = await namespace.submit("digits", 2)
    await admit_guest(namespace)
    guest = replace(
        person, kubeconfig=namespace.server.kubeconfig(f"{namespace.name}-guest", GUEST_TOKEN)
    )
    for words in ("list", "status digits", "describe digits", "explain digits"):
        seen = await guest.types(*words.split())
        assert (seen.code, "digits" in seen.out) == (0, True), seen
    for words in (
        "stop digits",
        "scale digits --gpus 1 --min-gpus 1",
        "delete digits",
        "gpus",
        "submit a --gpus 1 --gpu-type t4 -- x.py",
        "sweep s lr=1,2 --gpus 1 --gpu-type t4 -- x.py",
        "logs digits",
        "checkpoints digits",
        "cost --no-history",
        "report digits --no-history",
        "board digits",
    ):
        refused = await guest.types(*words.split())
        assert (refused.code, refused.out) == (3, ""), (words, refused)
        assert "may not" in refused.err, words
        assert "Ask the administrator" in refused.err
        assert refused.err.count("\n") == 1, (words, refused.err)
    jobs, _ = await namespace.kube.list_all(kinds.JOBS, namespace.name)
    assert [job["metadata"]["resourceVersion"] for job in jobs] == [
        before["metadata"]["resourceVersion"]
    ]


async def test_a_namespace_that_is_not_there_is_named(server: ApiServer, person: Person) -> None:
    """To an administrator, whom the API server lets look everywhere; others may not look."""
    admin = replace(person, kubeconfig=server.kubeconfig("admin", ADMIN_TOKEN), namespace="tema")
    empty = await admin.types("list")
    assert (empty.code, empty.out) == (0, "")
    assert "There are no jobs in namespace 'tema'" in empty.err
    for words, code in (
        ("status digits", 4),
        ("stop digits", 4),
        ("delete digits", 4),
        ("logs digits", 4),
        ("checkpoints digits", 3),
        ("cost digits --no-history", 4),
        ("submit a --gpus 1 --gpu-type t4 -- x.py", 4),
        ("sweep s lr=1,2 --gpus 1 --gpu-type t4 -- x.py", 4),
    ):
        refused = await admin.types(*words.split())
        assert (refused.code, refused.out) == (code, ""), (words, refused)
        assert "tema" in refused.err, (words, refused.err)


async def test_gpus_shows_the_pools_to_whoever_may_submit(person: Person) -> None:
    shown = await person.types("gpus")
    assert (shown.code, shown.err) == (0, "")
    assert max(map(len, shown.out.splitlines())) <= 80
    assert "a100-spot" in shown.out
    listed = (await person.types("gpus", "-o", "json")).document
    assert isinstance(listed, list)
    assert [(each["pool"], each["most"]) for each in listed] == [
        ("a100-spot", 128),
        ("t4-spot", 16),
        ("t4-on-demand", 16),
    ]


async def test_a_job_that_has_ended_is_neither_stopped_nor_resumed_nor_scaled(
    namespace: Namespace, person: Person
) -> None:
    await namespace.submit("digits", 2)
    condition = {"type": "Succeeded", "status": "True", "reason": "Done", "message": "all done"}
    await tell(namespace, "digits", state="Succeeded", conditions=[condition])
    for words in ("stop digits", "resume digits", "scale digits --gpus 2"):
        refused = await person.types(*words.split())
        assert (refused.code, refused.out) == (5, "")
        assert "Succeeded" in refused.err


async def test_a_job_over_its_budget_goes_on_only_with_a_larger_one(
    namespace: Namespace, person: Person
) -> None:
    words = ("submit", "exp1", "--gpus", "4", "--gpu-type", "t4", "--budget", "3", "--", "t.py")
    sent = await person.types(*words)
    assert sent.code == 0
    assert "4 workers of 1 GPU (t4, pools t4-spot or t4-on-demand)" in sent.out
    assert "about $0.8000 an hour now, in t4-spot: $3.00 last 4 h" in sent.err
    assert "spotrain resume exp1 --budget USD" in sent.err
    told = {"type": "BudgetExceeded", "status": "True", "reason": "BudgetExceeded"}
    made = await namespace.kube.get(kinds.JOBS, namespace.name, "exp1")
    at = made["metadata"]["creationTimestamp"]
    await tell(
        namespace,
        "exp1",
        state="Suspended",
        conditions=[told],
        observedGeneration=made["metadata"]["generation"],
        ledger={"since": at, "totals": {"until": at, "estimatedUsd": 3.2}},
    )
    refused = await person.types("resume", "exp1")
    assert (refused.code, refused.out) == (5, "")
    assert "has cost about $3.20, and its budget is $3.00" in refused.err
    assert "spotrain resume exp1 --budget USD" in refused.err
    too_little = await person.types("resume", "exp1", "--budget", "3.1")
    assert (too_little.code, too_little.out) == (2, "")
    assert (await spec_of(namespace, "exp1"))["budget"] == {"maxDollars": 3}
    assert (await person.types("resume", "exp1", "--budget", "10")).code == 0
    spec = await spec_of(namespace, "exp1")
    assert (spec["budget"], spec["suspend"]) == ({"maxDollars": 10}, False)
    # The controller has not looked at the new budget yet: nothing is said against it.
    assert (await person.types("resume", "exp1")).code == 0


async def test_who_is_not_known_or_not_there_is_told_what_to_do(
    server: ApiServer, person: Person
) -> None:
    stranger = replace(person, kubeconfig=server.kubeconfig("stranger", "nobody-knows-this"))
    refused = await stranger.types("list")
    assert refused.code == 3
    assert "Log in again" in refused.err
    nowhere = yaml.safe_load(person.kubeconfig.read_text())
    nowhere["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    (person.folder / "nowhere").write_text(yaml.safe_dump(nowhere))
    lost = await replace(person, kubeconfig=person.folder / "nowhere").types("list")
    assert lost.code == 3
    assert "cannot be reached" in lost.err


@pytest.mark.parametrize(("end", "code"), [("Succeeded", 0), ("Failed", 1)])
async def test_status_watch_tells_each_change_and_ends_with_the_job(
    namespace: Namespace, person: Person, end: str, code: int
) -> None:
    await namespace.submit("digits", 2)
    process = await person.starts("status", "digits", "--watch")
    assert process.stdout
    async with asyncio.timeout(LIMIT_SECONDS):
        assert b"Pending" in await process.stdout.readline()
        await tell(namespace, "digits", state="Running")
        assert b"Running" in await process.stdout.readline()
        condition = {"type": end, "status": "True", "reason": "Over"}
        await tell(namespace, "digits", state=end, conditions=[condition])
        assert end.encode() in await process.stdout.readline()
        assert await process.wait() == code


@pytest.mark.parametrize(("end", "code"), [("Succeeded", 0), ("Failed", 1)])
async def test_a_submission_is_followed_to_its_end_without_an_archive_too(
    namespace: Namespace, person: Person, end: str, code: int
) -> None:
    words = ("submit", "exp1", "--gpus", "1", "--gpu-type", "t4", "--follow", "--", "train.py")
    process = await person.starts(*words)
    assert process.stderr
    async with asyncio.timeout(LIMIT_SECONDS):
        said = [await process.stderr.readline() for _ in range(2)]
        assert any(line.startswith(b"exp1: Pending") for line in said)
        assert any(line.startswith(b"the archive of") for line in said)
        condition = {"type": end, "status": "True", "reason": "Over"}
        await tell(namespace, "exp1", state=end, conditions=[condition])
        out, err = await process.communicate()
        assert process.returncode == code, err.decode()
    assert out.startswith(b"submitted exp1")
    assert f"exp1: {end}".encode() in err


async def test_ctrl_c_leaves_the_display_and_not_the_job(
    namespace: Namespace, person: Person
) -> None:
    await namespace.submit("digits", 2)
    process = await person.starts("status", "digits", "--watch")
    assert process.stdout
    async with asyncio.timeout(LIMIT_SECONDS):
        await process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, err = await process.communicate()
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert (await spec_of(namespace, "digits"))["suspend"] is False


async def test_a_report_is_made_without_the_archive_too_and_says_so(
    namespace: Namespace, person: Person
) -> None:
    await namespace.submit("digits", 2)
    told = await person.types("report", "digits", "--no-history")
    assert (told.code, told.out) == (0, "")
    page = (person.folder / "digits-report.html").read_text()
    assert "Without the archive, what is older is missing" in page
    unknown = await person.types("report", "digit", "--no-history")
    assert unknown.code == 4
    assert "Did you mean digits?" in unknown.err
    assert "Of deleted ones only the archive knows" in unknown.err
