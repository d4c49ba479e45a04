"""What the API server refuses, in a researcher's words; tests/cluster shows it of a real one."""

from typing import Any

import pytest

from spotrain.cli.refusals import Request, refusal
from spotrain.kinds import JOBS

GET = Request("GET", JOBS, "team", "digits", server="https://cluster")
POST = Request("POST", JOBS, "team", "digits", server="https://cluster")
RBAC = (
    'elasticjobs.elastic.pytorch.org is forbidden: User "ada" cannot create resource '
    '"elasticjobs" in API group "elastic.pytorch.org" in the namespace "team"'
)


@pytest.mark.parametrize(
    ("request_", "status", "body", "code", "says"),
    [
        pytest.param(GET, 401, {"message": "Unauthorized"}, 3, "Log in again", id="expired"),
        pytest.param(POST, 403, {"message": RBAC}, 3, "ada may not create", id="no right"),
        pytest.param(
            POST, 403, {"message": "exceeded quota: spotrain-jobs"}, 2, "exceeded", id="quota"
        ),
        pytest.param(
            GET, 404, {"message": 'elasticjobs "digits" not found'}, 4, "no elastic", id="no job"
        ),
        pytest.param(
            POST, 404, {"message": 'namespaces "team" not found'}, 4, "--namespace", id="no place"
        ),
        pytest.param(GET, 404, "404 page not found", 3, "installed", id="no platform"),
        pytest.param(POST, 409, {"message": "already exists"}, 5, "already one", id="taken"),
        pytest.param(GET, 409, {"message": "changed"}, 5, "try again", id="changed"),
        pytest.param(POST, 422, {"message": "spec: no"}, 2, "spec: no", id="invalid"),
        pytest.param(GET, 503, "<html>busy</html>", 3, "in a minute", id="overloaded"),
    ],
)
def test_a_refusal_says_what_to_do_and_ends_with_its_code(
    request_: Request, status: int, body: Any, code: int, says: str
) -> None:
    error = refusal(request_, status, body)
    assert error.exit_code == code
    assert says in error.message
    assert "\n" not in error.message
