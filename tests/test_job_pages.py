"""What docs/elasticjob.md and docs/controller.md show works as shown."""

import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from spotrain.job import parse_job
from tests.test_crd import schema_of

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall((DOCS / page).read_text()) if kind == language]


JOBS = [yaml.safe_load(text) for text in blocks("elasticjob.md", "yaml")]


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job["metadata"]["name"])
def test_a_job_that_the_page_shows_can_be_submitted(job: dict[str, object]) -> None:
    jsonschema.validate(job, schema_of())
    assert parse_job(job).namespace == "elastic-job"


def test_the_page_shows_the_jobs_that_it_speaks_of() -> None:
    assert [job["metadata"]["name"] for job in JOBS] == ["digits", "imagenet", "rigid", "old"]


@pytest.mark.parametrize("example", blocks("controller.md", "python"))
def test_what_the_page_plays_through_happens(example: str) -> None:
    exec(compile(example, "docs/controller.md", "exec"), {})
