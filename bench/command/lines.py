"""What a person types, ours and kubectl's, and what the API server is asked for by each. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from spotrain import contract

KIND: Final = f"{contract.PLURAL}.{contract.GROUP}"
TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
"""What kubectl accepts for its tables: the server draws them, with the columns of the CRD."""
METADATA: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
ANSWERS: Final = {"documents": "application/json", "table": TABLE, "metadata": METADATA}
"""Forms in which the API server gives a list of all jobs -> what a client accepts for it."""


@dataclass(frozen=True, kw_only=True)
class Line:
    about: str
    ours: Sequence[str]
    theirs: Sequence[str]
    """Without a peer: empty."""
    answer: str = ""
    """Of ANSWERS: what ours asks of the API server, timed by itself; empty: little or nothing."""
    environment: Mapping[str, str] = field(default_factory=dict)


def completing(*words: str) -> Mapping[str, str]:
    """What a shell sets when somebody presses TAB behind the last word."""
    return {
        "_SPOTRAIN_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(("spotrain", *words)),
        "COMP_CWORD": str(len(words)),
    }


def lines(namespace: str, manifest: str) -> dict[str, Line]:
    """Key -> line, in the order in which they are told. `manifest` is a job's file."""
    ours, theirs = ("spotrain",), ("kubectl", "--namespace", namespace)
    submit = ("submit", "exp1", "--gpus", "4", "--gpu-type", "t4", "--dry-run")
    return {
        "help": Line(about="`--help`", ours=(*ours, "--help"), theirs=("kubectl", "--help")),
        "version": Line(
            about="`--version`",
            ours=(*ours, "--version"),
            theirs=("kubectl", "version", "--client"),
        ),
        "verb-help": Line(
            about="`submit --help`",
            ours=(*ours, "submit", "--help"),
            theirs=("kubectl", "apply", "--help"),
        ),
        "list": Line(
            about="`list`", ours=(*ours, "list"), theirs=(*theirs, "get", KIND), answer="table"
        ),
        "list-json": Line(
            about="`list -o json`",
            ours=(*ours, "list", "-o", "json"),
            theirs=(*theirs, "get", KIND, "-o", "json"),
            answer="documents",
        ),
        "list-name": Line(
            about="`list -o name`",
            ours=(*ours, "list", "-o", "name"),
            theirs=(*theirs, "get", KIND, "-o", "name"),
            answer="metadata",
        ),
        "status": Line(
            about="`status NAME`",
            ours=(*ours, "status", "resnet-lr-001"),
            theirs=(*theirs, "get", KIND, "resnet-lr-001"),
        ),
        "dry-run": Line(
            about="`submit --dry-run`",
            ours=(*ours, *submit, "--", "imagenet.py", "--lr", "0.1"),
            theirs=(*theirs, "create", "--dry-run=server", "-o", "yaml", "-f", manifest),
        ),
        "complete-verb": Line(
            about="TAB: a verb",
            ours=ours,
            theirs=("kubectl", "__complete", "ge"),
            environment=completing("st"),
        ),
        "complete-option": Line(
            about="TAB: an option",
            ours=ours,
            theirs=("kubectl", "__complete", "get", "--out"),
            environment=completing("submit", "--gp"),
        ),
        "complete-name": Line(
            about="TAB: a job's name",
            ours=ours,
            theirs=(*theirs[:1], "__complete", *theirs[1:], "get", KIND, "resnet-lr-00"),
            answer="metadata",
            environment=completing("status", "resnet-lr-00"),
        ),
    }
