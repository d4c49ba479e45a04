"""What a preview says to do next, or instead."""

import pytest

from stacks import preview
from stacks.pages.stacks import settings_of


@pytest.mark.parametrize(
    ("name", "asks", "reach"),
    [
        ("dev", ["aws", "aws", "aws"], "$(pulumi stack output login --stack dev)"),
        ("gcp", ["gcloud", "gcloud", "in"], "$(pulumi stack output login --stack gcp)"),
        ("kind", [], "kubectl --context kind-kind get nodes"),
    ],
)
def test_the_next_steps_lead_from_nothing_by_way_of_quotas_to_kubectl(
    name: str, asks: list[str], reach: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda tool: f"/bin/{tool}")
    settings = settings_of(name)
    steps = [line.split(":  ", 1)[-1].strip() for line in preview.next_steps(name, settings)]
    first, steps = steps[: len(asks)], steps[len(asks) :]
    assert [step.split()[0] for step in first] == asks
    assert steps == [
        f"pulumi login && pulumi stack init {name}",
        f"pulumi up --stack {name}",
        reach,
    ]


def test_a_missing_tool_is_told_before_the_steps_that_need_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shutil.which", lambda tool: None)
    first, *_ = preview.next_steps("dev", settings_of("dev"))
    assert first.startswith("Missing here: pulumi, kubectl.")


@pytest.mark.parametrize(("wrong", "meant"), [("prd", "prod"), ("DEV", "dev"), ("knd", "kind")])
def test_a_misspelled_stack_is_answered_with_the_one_that_was_meant(
    wrong: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert preview.main([wrong]) == 2
    assert f"did you mean {meant}?" in capsys.readouterr().err
