"""Commands of the pages that need no cloud to be judged."""

import importlib.util
import re
import subprocess
from collections.abc import Iterator
from itertools import pairwise

import pytest
import yaml

from bench.parts import PARTS
from spotrain import contract
from spotrain.cli.main import PROGRAM, VERBS, load_verb
from stacks.aws.cluster_schema import Cluster
from stacks.pages.stacks import QUARRY, recording_of
from stacks.recorder import Recording
from tests.docs.pages import PAGES, ROOT, Command, commands, name_of

README = (ROOT / "README.md").read_text()
PULUMI = {
    ("cancel",): set(),
    ("destroy",): {"--stack"},
    ("login",): {"--local"},
    ("preview",): {"--diff"},
    ("refresh",): {"--preview-only"},
    ("stack",): {"--show-urns"},
    ("stack", "init"): set(),
    ("stack", "output"): {"--json", "--stack"},
    ("stack", "rm"): {"--force", "--preserve-config"},
    ("up",): {"--replace", "--stack"},
}
"""The commands and options of Pulumi's own reference that the pages use."""
OTHERS = {
    "k8s-app=aws-node": "the pod network, of EKS' add-on vpc-cni",
    "app=efs-csi-node": "the node part of the EFS driver",
    "batch.kubernetes.io/job-name": "Kubernetes puts it on the pods of its Jobs",
    "configmap/cluster-autoscaler-status": "the autoscaler writes it",
    "svc/metrics-prometheus": "of the metrics chart",
    "svc/metrics-alertmanager": "of the metrics chart",
}
"""What commands select that no object of the program is -> whose it is."""


@pytest.fixture(scope="module")
def everything() -> Recording:
    return recording_of(QUARRY.stem)


def test_every_target_of_make_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    targets |= {f"bench-{part.name}" for part in PARTS}  # one rule for all of them
    used = {word for c in commands("make") for word in c.words[1:] if re.fullmatch("[a-z-]+", word)}
    assert used
    assert used <= targets


def test_every_file_that_a_command_reads_exists() -> None:
    read = {
        file
        for command in commands("docker", "kubectl")
        for option, file in pairwise(command.words)
        if option == "-f" and "/" in file
    }
    assert len(read) > 2
    assert [file for file in read if not (ROOT / file).is_file()] == []


def test_every_module_that_is_run_exists() -> None:
    modules = {
        module
        for page in PAGES
        for module in re.findall(r"python3? -m ((?:stacks|spotrain|demo)[\w.]*)", page.read_text())
    }
    assert modules
    assert [module for module in modules if importlib.util.find_spec(module) is None] == []


def test_what_needs_our_environment_is_run_with_its_python() -> None:
    """The machine's own python has none of the libraries."""
    bare = [
        name_of(page)
        for page in PAGES
        if re.search(r"(?<!\.venv/bin/)python3? -m (stacks|demo|spotrain\.local)", page.read_text())
    ]
    assert bare == []


def test_every_use_of_our_own_command_has_a_verb_and_options_that_there_are() -> None:
    used = [
        command
        for command in commands(PROGRAM, f".venv/bin/{PROGRAM}")
        if len(command.words) > 1 and not command.words[1].startswith("-")
    ]
    assert used
    for command in used:
        verb = command.words[1]
        assert verb in VERBS, str(command)
        known = {"--help"}
        for each in load_verb(verb).params:
            known |= {*each.opts, *each.secondary_opts}
        words = [word.partition("=")[0] for word in command.words[2:]]
        own = words[: words.index("--")] if "--" in words else words
        assert {word for word in own if word.startswith("-")} <= known, str(command)


def test_every_use_of_pulumi_is_one_that_it_has() -> None:
    for command in commands("pulumi"):
        options = {word for word in command.words if word.startswith("--")}
        plain = tuple(word for word in command.words[1:] if not word.startswith("--"))
        verb = next(plain[:n] for n in (2, 1) if plain[:n] in PULUMI)
        assert options <= PULUMI[verb], str(command)


def test_a_stack_is_never_removed_with_its_file() -> None:
    removals = [c for c in commands("pulumi") if c.words[1:3] == ("stack", "rm")]
    assert removals
    assert [str(c) for c in removals if "--preserve-config" not in c.words] == []


def test_versions_that_a_newcomer_needs_are_those_that_the_stack_uses() -> None:
    (sdk,) = re.findall(r"^pulumi==(\d+\.\d+)\.", (ROOT / "requirements.lock").read_text(), re.M)
    assert f"[Pulumi](https://www.pulumi.com/docs/install/) {sdk} or newer" in README
    major, minor = str(Cluster.model_fields["version"].default).split(".")
    # kubectl may be one minor version older than the API server.
    assert f"{major}.{int(minor) - 1} or newer;" in README


def selected(command: Command) -> Iterator[str]:
    """Labels and named objects of the platform's namespaces."""
    words = command.words
    for option, value in pairwise(words):
        if option == "-l":
            yield value
        elif option == "configmap" and contract.SYSTEM_NAMESPACE in words:
            yield f"configmap/{value}"
    yield from (word for word in words if re.fullmatch(r"(deploy|svc)/[\w-]+", word))


def known(recording: Recording) -> Iterator[str]:
    short = {"Deployment": "deploy", "ConfigMap": "configmap", "Service": "svc"}
    for resource in recording.resources:
        body = resource.inputs
        if not resource.type.startswith("kubernetes:") or "metadata" not in body:
            continue
        if body.get("kind") in short:
            yield f"{short[body['kind']]}/{body['metadata'].get('name')}"
        template = (body.get("spec") or {}).get("template") or {}
        labels = (template.get("metadata") or {}).get("labels") or {}
        yield from (f"{key}={value}" for key, value in labels.items())


def test_what_kubectl_is_asked_for_is_what_the_program_makes(everything: Recording) -> None:
    there = {*known(everything), *OTHERS, f"{contract.LABEL_JOB}=job"}
    asked = {(item, str(c)) for c in commands("kubectl") for item in selected(c)}
    assert len(asked) > 8
    assert sorted((item, where) for item, where in asked if item not in there) == []


@pytest.mark.parametrize("line", sorted(set(re.findall(r"\$ (sed .*) \| kubectl apply", README))))
def test_an_example_becomes_the_stacks_own_by_the_readmes_command(line: str) -> None:
    given = {"NS": "team", "IMAGE": "registry/image@sha256:0", "PATH": "/usr/bin:/bin"}
    run = subprocess.run(["sh", "-c", line], env=given, cwd=ROOT, capture_output=True, check=True)
    made = yaml.safe_load(run.stdout)
    assert made["metadata"]["namespace"] == given["NS"]
    assert f"'image': '{given['IMAGE']}'" in str(made)
    assert str(made).count(given["IMAGE"]) == 1


def test_the_readmes_two_examples_are_tried() -> None:
    assert len(set(re.findall(r"\$ (sed .*) \| kubectl apply", README))) == 2
