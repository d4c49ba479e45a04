"""The PodDisruptionBudget of a job that asks for one."""

from typing import Any

import pytest

from spotrain.controller.model import (
    Action,
    ApplyDisruptionBudget,
    BudgetView,
    DeleteDisruptionBudget,
)
from spotrain.controller.reconcile import reconcile
from tests.controller.builders import NOW, applied, job, pod, seen, started

ASKED = {"podDisruptionBudget": True, "minReplicas": 2}
THERE = BudgetView("budget-uid", 2)


def budgets(this: Any, observed: Any) -> list[Action]:
    actions = reconcile(this, observed, NOW).actions
    kinds = (ApplyDisruptionBudget, DeleteDisruptionBudget)
    return [action for action in actions if isinstance(action, kinds)]


@pytest.mark.acceptance(23)
def test_a_job_that_asks_for_one_has_a_budget_of_its_min() -> None:
    (apply,) = budgets(job(**ASKED), started(job(**ASKED)))
    assert isinstance(apply, ApplyDisruptionBudget)
    assert apply.manifest["metadata"]["name"] == "digits"
    assert apply.manifest["metadata"]["ownerReferences"][0]["uid"] == "job-uid"
    assert apply.manifest["spec"]["minAvailable"] == 2
    assert apply.manifest["spec"]["selector"]["matchLabels"]["job-name"] == "digits"


@pytest.mark.acceptance(23)
@pytest.mark.parametrize(
    ("spec", "there", "expected"),
    [
        pytest.param({}, None, [], id="off-by-default"),
        pytest.param(ASKED, THERE, [], id="as-it-should-be"),
        pytest.param({**ASKED, "minReplicas": 3}, THERE, [ApplyDisruptionBudget], id="new-min"),
        pytest.param({}, THERE, [DeleteDisruptionBudget], id="no-longer-asked-for"),
        pytest.param({**ASKED, "suspend": True}, THERE, [DeleteDisruptionBudget], id="suspended"),
    ],
)
def test_the_budget_is_kept_as_the_job_asks(
    spec: dict[str, Any], there: BudgetView | None, expected: list[type]
) -> None:
    this = job(**spec)
    found = budgets(this, started(this, disruption_budget=there))
    assert [type(action) for action in found] == expected


@pytest.mark.acceptance(23)
def test_a_job_that_has_ended_stands_in_no_drains_way() -> None:
    this = job(**ASKED)
    observed = seen(pod(0, "Succeeded"), pod(1), disruption_budget=THERE)
    assert budgets(this, observed) == [DeleteDisruptionBudget("digits", "budget-uid")]
    rest = applied(observed, reconcile(this, observed, NOW))
    assert budgets(this, rest) == []
