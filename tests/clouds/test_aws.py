"""What is asked of EC2, and what becomes of its answers and refusals."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ConnectTimeoutError  # type: ignore[import-untyped]
from botocore.stub import Stubber  # type: ignore[import-untyped]
from moto import mock_aws

from spotrain.clouds.aws import PRODUCTS, connect, spot_quotes
from spotrain.clouds.prices import RefreshError
from tests.clouds.logged_out import log_out

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
TYPES, ZONES = ("g4dn.xlarge", "g4dn.2xlarge"), ("us-east-1a", "us-east-1b")
HISTORY = "describe_spot_price_history"
ASKED: Mapping[str, Any] = {
    "InstanceTypes": list(TYPES),
    "ProductDescriptions": list(PRODUCTS),
    "Filters": [{"Name": "availability-zone", "Values": list(ZONES)}],
    "StartTime": NOON,
}


def record(price: str, **changed: str) -> dict[str, Any]:
    place = {"InstanceType": TYPES[0], "AvailabilityZone": ZONES[0], **changed}
    return {**place, "SpotPrice": price, "Timestamp": NOON, "ProductDescription": "Linux/UNIX"}


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made up: nothing here may reach an account."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")


@pytest.fixture
def ec2() -> Any:
    return connect("us-east-1")


@pytest.fixture
def answers(ec2: Any) -> Iterator[Any]:
    """What EC2 will say, one entry a request; every entry must have been asked for."""
    with Stubber(ec2) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


def test_every_type_and_zone_that_was_asked_for_is_priced() -> None:
    with mock_aws():
        quotes = spot_quotes(connect("us-east-1"), TYPES, ZONES, now=NOON)
    assert {(q.instance_type, q.zone) for q in quotes} == {(t, z) for t in TYPES for z in ZONES}
    assert all(quote.usd_per_hour > 0 and quote.since.tzinfo for quote in quotes)


def test_a_type_that_is_not_sold_has_no_price() -> None:
    with mock_aws():
        assert spot_quotes(connect("us-east-1"), ["g9.huge"], ZONES, now=NOON) == []


def test_nothing_is_asked_where_no_type_is_named(ec2: Any, answers: Any) -> None:
    assert spot_quotes(ec2, [], [], now=NOON) == []


def test_all_pages_are_read(ec2: Any, answers: Any) -> None:
    first, second = record("0.1578"), record("0.2", AvailabilityZone=ZONES[1])
    page = {"SpotPriceHistory": [first], "NextToken": "more"}
    answers.add_response(HISTORY, page, ASKED)
    # A page may be empty, and more follow.
    empty = {"SpotPriceHistory": [], "NextToken": "and more"}
    answers.add_response(HISTORY, empty, {**ASKED, "NextToken": "more"})
    last = {"SpotPriceHistory": [second], "NextToken": ""}
    answers.add_response(HISTORY, last, {**ASKED, "NextToken": "and more"})
    found = spot_quotes(ec2, TYPES, ZONES, now=NOON)
    assert [(q.zone, q.usd_per_hour) for q in found] == [(ZONES[0], 0.1578), (ZONES[1], 0.2)]


@pytest.mark.parametrize("nothing", ["0", "-1", "nan", "inf"])
def test_a_record_without_a_price_is_passed_over(ec2: Any, answers: Any, nothing: str) -> None:
    page = {"SpotPriceHistory": [record(nothing), record("0.3")]}
    answers.add_response(HISTORY, page, ASKED)
    assert [q.usd_per_hour for q in spot_quotes(ec2, TYPES, ZONES, now=NOON)] == [0.3]


@pytest.mark.parametrize(
    ("code", "step"),
    [
        ("UnauthorizedOperation", "ec2:DescribeSpotPriceHistory"),
        ("AuthFailure", "pod identity association of spotrain-system/spotrain-prices"),
        ("RequestLimitExceeded", "the next run asks again"),
        ("InternalError", "see the message"),
    ],
)
def test_a_refusal_is_told_in_one_line_with_the_next_step(
    ec2: Any, answers: Any, code: str, step: str
) -> None:
    answers.add_client_error(HISTORY, code, "You\nmay not")
    with pytest.raises(RefreshError, match=step) as refused:
        spot_quotes(ec2, TYPES, ZONES, now=NOON)
    assert code in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_refusal_half_way_gives_no_half_answer(ec2: Any, answers: Any) -> None:
    page = {"SpotPriceHistory": [record("0.1578")], "NextToken": "more"}
    answers.add_response(HISTORY, page, ASKED)
    answers.add_client_error(HISTORY, "UnauthorizedOperation")
    with pytest.raises(RefreshError):
        spot_quotes(ec2, TYPES, ZONES, now=NOON)


def test_a_pod_without_identity_is_told_where_it_comes_from(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    log_out(monkeypatch, tmp_path)
    with pytest.raises(RefreshError, match="pod identity association"):
        spot_quotes(connect("us-east-1"), TYPES, ZONES, now=NOON)


def test_a_way_to_ec2_that_is_shut_is_told_as_such() -> None:
    class Unreachable:
        def get_paginator(self, name: str) -> "Unreachable":
            return self

        def paginate(self, **_: object) -> Iterator[Any]:
            raise ConnectTimeoutError(endpoint_url="https://ec2.us-east-1.amazonaws.com/")
            yield

    with pytest.raises(RefreshError, match="EC2 was not reached"):
        spot_quotes(Unreachable(), TYPES, ZONES, now=NOON)
