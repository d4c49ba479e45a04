"""The log: an object a line, with the job and the pod that it is about, and never a secret."""

import json
import logging
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain.controller.certificates import make
from spotrain.controller.logs import MASK, JsonLines, mask
from tests.controller.builders import NOW

TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJhdWQiOlsic3BvdHJhaW4iXX0.c2lnbmF0dXJl"


def line(message: str, *args: Any, error: bool = False, **extra: str) -> dict[str, Any]:
    exc_info = sys.exc_info() if error else None
    record = logging.LogRecord("spotrain.x", logging.WARNING, "x.py", 1, message, args, exc_info)
    record.__dict__.update(extra)
    text = JsonLines().format(record)
    assert "\n" not in text
    found: dict[str, Any] = json.loads(text)
    return found


def test_a_line_says_when_how_grave_and_what() -> None:
    found = line("cannot record world %d", 4)
    assert found.keys() == {"time", "level", "logger", "message"}
    assert found["level"] == "warning"
    assert found["message"] == "cannot record world 4"
    assert found["time"].endswith("Z")


def test_a_line_about_a_job_and_its_pod_names_both() -> None:
    found = line("created", job="jobs/digits/some-uid", pod="digits-worker-0")
    assert (found["job"], found["pod"]) == ("jobs/digits", "digits-worker-0")


def test_a_traceback_is_one_field_of_the_same_line() -> None:
    try:
        raise ValueError("the\nreason")
    except ValueError:
        found = line("failed", error=True)
    assert "ValueError: the\nreason" in found["error"]


@pytest.mark.parametrize(
    "text",
    [
        TOKEN,
        f"a {TOKEN}.",
        f"Authorization: Bearer {TOKEN}",
        "Bearer opaque-token",
        f"'{TOKEN[:40]}'",
    ],
)
def test_tokens_are_masked(text: str) -> None:
    masked = mask(text)
    assert MASK in masked
    assert "eyJ" not in masked
    assert "opaque" not in masked


def test_private_keys_are_masked_also_in_tracebacks() -> None:
    key = make(NOW).server_key
    try:
        raise ValueError(f"cannot use {key}")
    except ValueError:
        found = line("key %s", key, error=True)
    body = key.splitlines()[1]
    assert body not in json.dumps(found)


@given(st.text(), st.text(max_size=20), st.text(max_size=20))
def test_whatever_is_logged_is_one_object_on_one_line(message: str, job: str, pod: str) -> None:
    assert line("%s", message, job=job, pod=pod)["level"] == "warning"
