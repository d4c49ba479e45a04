"""What docs/elasticjob.md shows works as shown."""

import jsonschema
import pytest
import yaml

from spotrain.job import parse_job
from tests.docs.pages import FENCE, ROOT
from tests.test_crd import schema_of

PAGE = (ROOT / "docs" / "elasticjob.md").read_text()
JOBS = [yaml.safe_load(text) for language, text in FENCE.findall(PAGE) if language == "yaml"]


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job["metadata"]["name"])
def test_a_job_that_the_page_shows_can_be_submitted(job: dict[str, object]) -> None:
    jsonschema.validate(job, schema_of())
    assert parse_job(job).namespace == "elastic-job"


def test_the_page_shows_the_jobs_that_it_speaks_of() -> None:
    assert [job["metadata"]["name"] for job in JOBS] == ["digits", "imagenet", "rigid", "old"]
