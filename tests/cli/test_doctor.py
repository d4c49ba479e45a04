"""What `spotrain doctor` shows, and how it ends."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from spotrain.cli import doctor
from spotrain.cli.cloud_account import Whereabouts, ask_cloud, find_whereabouts
from spotrain.cli.main import main
from spotrain.doctor.finding import Finding, Verdict, fail, passed, warn
from tests.clouds.logged_out import log_out
from tests.doctor.answers import pool

WELL = passed("pools", "t4-spot.")
WORSE = warn("storage", "not looked at: you may not read it.", "an administrator sees it")
WORST = fail("spot role", "the account has none.", "aws iam create-service-linked-role")


@pytest.mark.parametrize(
    ("findings", "code"), [([WELL], 0), ([WELL, WORSE], 0), ([WORSE, WORST], 1)]
)
def test_only_what_fails_makes_the_command_fail(
    findings: list[Finding],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(doctor, "_here", lambda: findings)
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "--local", "-o", "json"])
    assert ended.value.code == code
    told = json.loads(capsys.readouterr().out)
    assert [each["check"] for each in told["findings"]] == [each.check for each in findings]
    assert told["verdict"] == ("fail" if code else str(findings[-1].verdict))


def test_people_read_the_fix_below_what_was_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "_here", lambda: [WELL, WORST])
    with pytest.raises(SystemExit):
        main(["doctor", "--local"])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    found = next(number for number, line in enumerate(lines) if "spot role" in line)
    assert "Next: aws iam create-service-linked-role" in lines[found + 1]


@pytest.mark.parametrize(
    ("findings", "names"), [([WELL, WORSE], []), ([WELL, WORSE, WORST], ["spot role"])]
)
def test_a_script_is_told_the_names_of_what_fails(
    findings: list[Finding],
    names: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(doctor, "_here", lambda: findings)
    with pytest.raises(SystemExit):
        main(["doctor", "--local", "-o", "name"])
    assert capsys.readouterr().out.splitlines() == names


def test_what_fails_is_summed_up_with_what_to_type_next(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "_here", lambda: [WELL, WORSE, WORST])
    with pytest.raises(SystemExit):
        main(["doctor", "--local"])
    said = capsys.readouterr().err
    assert said.startswith("1 of 3 checks failed: spot role. Next: ")
    assert said.endswith("spotrain doctor --local\n")


def test_this_machine_is_really_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["doctor", "--local", "-o", "json"])
    told = {f["check"]: f for f in json.loads(capsys.readouterr().out)["findings"]}
    assert told.keys() == {"python", "torch", "disk", "memory", "ports"}
    assert told["torch"]["verdict"] == "pass"
    assert told["ports"]["verdict"] == "pass"


def test_without_a_cluster_that_is_the_finding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere/kubeconfig")
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "-o", "name"])
    assert ended.value.code == 1
    assert capsys.readouterr().out.split() == ["cluster"]


# --- Where the cluster is in its cloud ------------------------------------------------------------
SERVER = "https://127.0.0.1:1"
AWS_LOGIN = ["--region", "us-east-1", "eks", "get-token", "--cluster-name", "dev"]


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        (
            {"exec": {"command": "aws", "args": AWS_LOGIN}},
            Whereabouts(cluster="dev", region="us-east-1"),
        ),
        (
            {
                "exec": {
                    "command": "aws-iam-authenticator",
                    "args": ["token", "-i", "dev"],
                    "env": [{"name": "AWS_PROFILE", "value": "team"}],
                }
            },
            Whereabouts(cluster="dev", profile="team"),
        ),
        ({"exec": {"command": "gke-gcloud-auth-plugin"}}, Whereabouts()),
        ({"token": "secret"}, Whereabouts()),
    ],
)
def test_the_kubeconfig_says_where_the_cluster_is(
    user: dict[str, object], expected: Whereabouts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    login = user.get("exec")
    if isinstance(login, dict):
        login["apiVersion"] = "client.authentication.k8s.io/v1beta1"
    config = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "clusters": [{"name": "here", "cluster": {"server": SERVER}}],
        "users": [{"name": "me", "user": user}],
    }
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    monkeypatch.setenv("KUBECONFIG", str(path))
    assert find_whereabouts(None) == replace(expected, server=SERVER)
    assert find_whereabouts("another") == Whereabouts()
    named = expected.overridden(region="eu-west-1", cluster=None, project="mine")
    assert (named.region, named.cluster, named.project) == ("eu-west-1", expected.cluster, "mine")


def test_a_cluster_that_nobody_rents_has_no_account() -> None:
    assert ask_cloud([pool(instance_types=())], images=(), where=Whereabouts()) == []


def test_gclouds_own_name_of_a_context_says_where_the_cluster_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    name = "gke_my-project_us-central1_dev"
    config = {
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "clusters": [{"name": name, "cluster": {"server": SERVER}}],
        "users": [{"name": name, "user": {"token": "secret"}}],
    }
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    monkeypatch.setenv("KUBECONFIG", str(path))
    expected = Whereabouts(cluster="dev", project="my-project", server=SERVER)
    assert find_whereabouts(None) == expected


def test_another_cloud_is_said_not_to_be_looked_at() -> None:
    (found,) = ask_cloud([pool(zones=("westeurope-1",))], images=(), where=Whereabouts())
    assert (found.verdict, "westeurope-1" in found.said) == (Verdict.warn, True)


def test_on_google_cloud_the_project_must_be_known() -> None:
    pools = [pool(zones=("europe-west4-a",))]
    (found,) = ask_cloud(pools, images=(), where=Whereabouts())
    assert (found.verdict, found.fix) == (Verdict.warn, "name it by --project")


def test_who_is_not_logged_in_to_google_cloud_is_told_how_and_which_project_was_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "gone.json"))
    pools = [pool(zones=("europe-west4-a",))]
    node = "gce://my-project/europe-west4-a/gke-dev-t4-spot-1a2b3c4d-x1y2"
    (found,) = ask_cloud(pools, images=(), where=Whereabouts(), provider_ids=[node])
    assert (found.check, found.verdict) == ("cloud credentials", Verdict.fail)
    assert found.fix == "gcloud auth application-default login"


def test_who_is_not_logged_in_is_told_how(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log_out(monkeypatch, tmp_path)
    (found,) = ask_cloud([pool()], images=(), where=Whereabouts(profile="team"))
    assert (found.check, found.verdict) == ("cloud credentials", Verdict.fail)
    assert "team" in found.said
