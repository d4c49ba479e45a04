"""The jobs of a sweep: their names, what they are given, and whether one is there already."""

import copy
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain import contract
from spotrain.cli.errors import CONFLICT, UserError
from spotrain.cli.sweep_jobs import (
    DIGITS,
    difference,
    fill,
    fill_job,
    joined,
    member_name,
    members,
    sweep_of,
    unsent,
    values_of,
)
from spotrain.kinds import Object
from tests.cli.documents import job

VALUES = st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=3)


def named(name: str, _values: Any, **spec: Any) -> Object:
    """A job that is told its own name, as every job is: that makes no other template of it."""
    made = job(name, **copy.deepcopy(spec))
    container = made["spec"]["replicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": contract.ENV_OUTPUT, "value": f"/mnt/efs/output/{name}"}]
    return made


def planned(**spec: Any) -> Any:
    tries = [{"lr": "0.1"}, {"lr": "0.01"}]
    return members("exp1", tries, partial(named, **spec), at_most=2)


def stored(document: Object, **spec: Any) -> Object:
    """As the API server has it: with defaults that nobody sent."""
    return {**document, "spec": {"suspend": False, **document["spec"], **spec}}


@given(one=VALUES, other=VALUES)
def test_jobs_have_one_name_exactly_if_they_try_the_same(
    one: dict[str, str], other: dict[str, str]
) -> None:
    name = member_name("exp1", one, "a")
    assert name.removeprefix("exp1-").isalnum()
    assert len(name) == len("exp1-") + DIGITS
    assert name == member_name("exp1", dict(reversed(one.items())), "a")
    assert (name == member_name("exp1", other, "a")) == (one == other)
    assert name.removeprefix("exp1") != member_name("exp2", one, "a").removeprefix("exp2")
    assert name != member_name("exp1", one, "b")


def test_a_job_of_another_template_or_other_code_shares_no_folder_with_one_that_was_removed() -> (
    None
):
    def names(code: str = "", at_most: int | None = None, **spec: Any) -> set[str]:
        tries = [{"lr": "0.1"}, {"lr": "0.01"}]
        template = partial(named, **spec)
        found = members("exp1", tries, template, at_most=at_most, code=code)
        return {each.name for each in found}

    assert names() == names(at_most=3), "how many at once says nothing of what a job does"
    assert not names() & names(minReplicas=2)
    assert not names() & names(code="a")
    assert not names(code="a") & names(code="b")


@given(values=VALUES, at_most=st.none() | st.integers(1, 9))
def test_a_job_tells_its_sweep_and_its_values(values: dict[str, str], at_most: int | None) -> None:
    found = joined(job(), "exp1", values, at_most=at_most)
    assert (sweep_of(found), values_of(found)) == ("exp1", values)
    assert (found["spec"].get("sweep") or {}).get("atMost") == at_most
    assert sweep_of(job()) == ""
    assert values_of(job()) == {}


@pytest.mark.parametrize(
    ("arguments", "filled"),
    [
        pytest.param(["t.py"], ["t.py", "--lr=0.1", "--tag=a b"], id="appended"),
        pytest.param(["t.py", "lr={lr}"], ["t.py", "lr=0.1", "--tag=a b"], id="in-its-place"),
        pytest.param(["t.py", "{lr}-{tag}"], ["t.py", "0.1-a b"], id="two-in-a-word"),
        pytest.param(
            ["t.py", "{name}/{lr}{tag}"], ["t.py", "exp1-1/0.1a b"], id="the-jobs-own-name"
        ),
        pytest.param(
            ["t.py", '{"a": 1}', "${lr}", "$(SPOTRAIN_OUTPUT)"],
            ["t.py", '{"a": 1}', "${lr}", "$(SPOTRAIN_OUTPUT)", "--lr=0.1", "--tag=a b"],
            id="other-braces-stay",
        ),
    ],
)
def test_values_go_where_the_script_wants_them(arguments: list[str], filled: list[str]) -> None:
    assert fill(arguments, {"lr": "0.1", "tag": "a b"}, "exp1-1") == filled


def test_braces_around_nothing_that_is_swept_are_refused() -> None:
    with pytest.raises(UserError, match=r"\{rl\} names nothing .* there are \{lr\}, \{name\}"):
        fill(["t.py", "{rl}"], {"lr": "0.1"}, "exp1-1")


def test_a_value_is_never_taken_for_a_placeholder() -> None:
    assert fill(["{a}", "{b}"], {"a": "{b}", "b": "{a}"}, "x") == ["{b}", "{a}"]


def test_each_job_of_a_file_has_a_folder_of_its_own_for_results() -> None:
    template = job()
    container = template["spec"]["replicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["args"] = ["t.py", "--output", "/mnt/efs/output/digits", "/mnt/efs/output/digits2"]
    container["env"] = [{"name": contract.ENV_OUTPUT, "value": "/mnt/efs/output/digits"}]
    found = fill_job(template, "digits-1", {"lr": "0.1"})
    made = found["spec"]["replicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    own = "/mnt/efs/output/digits-1"
    assert made["args"] == ["t.py", "--output", own, "/mnt/efs/output/digits2", "--lr=0.1"]
    assert made["env"] == [{"name": contract.ENV_OUTPUT, "value": own}]
    assert found["metadata"]["name"] == "digits-1"
    assert container["args"][2] == "/mnt/efs/output/digits", "the template stays as it is"


@pytest.mark.parametrize(
    ("given", "own"),
    [
        ("/mnt/efs/output/digits", "/mnt/efs/output/digits-1"),
        ("gs://team/runs/digits/", "gs://team/runs/digits-1"),
        ("gs://digits", "gs://digits/digits-1"),
        ("s3://team/runs", "s3://team/runs/digits-1"),
        ("s3://team/{name}/out", "s3://team/digits-1/out"),
    ],
)
def test_no_two_jobs_of_a_sweep_have_one_output(given: str, own: str) -> None:
    """Or one would restore what the other has saved."""
    template = job()
    container = template["spec"]["replicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "A", "value": "1"}, {"name": contract.ENV_OUTPUT, "value": given}]
    found = fill_job(template, "digits-1", {"lr": "0.1"})
    made = found["spec"]["replicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    assert made["env"] == [
        {"name": "A", "value": "1"},
        {"name": contract.ENV_OUTPUT, "value": own},
    ]


def test_what_was_sent_is_not_sent_again_whatever_the_server_has_added() -> None:
    one, two = planned()
    assert unsent([one, two], []) == [one, two]
    assert unsent([one, two], [stored(one.document), job("else")]) == [two]
    assert unsent([one], [stored(one.document, suspend=True, sweep={"atMost": 9})]) == []


def test_a_job_that_tries_the_same_and_was_sent_otherwise_is_refused_with_what_differs() -> None:
    (now, _), (earlier, _) = planned(minReplicas=2), planned(minReplicas=1)
    with pytest.raises(UserError) as refused:
        unsent([now], [stored(earlier.document)])
    assert refused.value.exit_code == CONFLICT
    assert "spec.minReplicas is 1 there and 2 here" in refused.value.message
    assert "spotrain sweep exp1 --delete" in refused.value.message
    (less, _), (more, _) = planned(), planned(minReplicas=1)
    with pytest.raises(UserError, match="left out now"):
        unsent([less], [stored(more.document)])
    other = members("exp2", [{"lr": "0.1"}], partial(named, minReplicas=1), at_most=2)
    assert unsent([now], [other[0].document]) == [now], "another sweep may try the same"


KEY, OTHER = [{"name": "KEY", "value": "hunter1"}], [{"name": "KEY", "value": "hunter2"}]


@pytest.mark.parametrize(
    ("wanted", "there", "says"),
    [
        pytest.param({"env": KEY}, {"env": OTHER}, "spec.env[0].value", id="another-value"),
        pytest.param({"env": KEY}, {"env": KEY + OTHER}, "spec.env", id="more-variables"),
        pytest.param({"env": KEY}, {}, "spec.env", id="no-variables"),
        pytest.param([{"env": KEY}], [], "spec", id="no-container"),
    ],
)
def test_a_difference_of_variables_is_told_without_their_values(
    wanted: Any, there: Any, says: str
) -> None:
    for told in (difference(wanted, there), difference(there, wanted)):
        assert "hunter" not in told
    assert difference(wanted, there) == f"{says} is not the same there"


DOCUMENTS = st.recursive(
    st.integers(0, 2) | st.booleans() | st.text(max_size=2),
    lambda below: (
        st.lists(below, max_size=2) | st.dictionaries(st.sampled_from("ab"), below, max_size=2)
    ),
    max_leaves=6,
)


def as_far_as_wanted(one: Any, there: Any) -> Any:
    """What is there, without the fields that nobody wants: an API server adds some."""
    if isinstance(one, dict) and isinstance(there, dict):
        return {key: as_far_as_wanted(each, there.get(key)) for key, each in one.items()}
    if isinstance(one, list) and isinstance(there, list) and len(one) == len(there):
        return [as_far_as_wanted(*pair) for pair in zip(one, there, strict=True)]
    return there


@given(one=DOCUMENTS, other=DOCUMENTS)
def test_a_difference_is_told_exactly_where_something_wanted_is_not_so(
    one: Any, other: Any
) -> None:
    assert difference(one, one) == ""
    assert bool(difference(one, other)) == (one != as_far_as_wanted(one, other))
