"""Prices of the past: what is asked of the cloud, what is kept, and what a person is told."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.stub import ANY, Stubber  # type: ignore[import-untyped]
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from moto import mock_aws

from spotrain.clouds import aws
from spotrain.clouds.history import KEPT, History, Market, NoHistory, cache_folder, history
from spotrain.ledger.entries import Place
from spotrain.ledger.prices import PriceBook, Quote, Source
from tests.clouds.logged_out import log_out

NOW = datetime(2026, 11, 21, 15, 30, tzinfo=UTC)
DAY = timedelta(days=1)
HERE = Market("g4dn.xlarge", "us-east-1a")
THERE = Market("g4dn.xlarge", "us-east-1b")
PLACE = Place(pool="t4", zone=HERE.zone, capacity="spot", instance_type=HERE.instance_type)


class Cloud:
    """Prices that change every six hours; notes what it was asked."""

    def __init__(self, *, refuses: str = "") -> None:
        self.asked: list[tuple[str, datetime, datetime]] = []
        self.refuses = refuses

    def ask(
        self,
        region: str,
        types: Sequence[str],
        zones: Sequence[str],
        since: datetime,
        until: datetime,
    ) -> list[Quote]:
        self.asked.append((region, since, until))
        if self.refuses:
            raise NoHistory(self.refuses)
        return [
            quote(type_, zone, NOW - hours * timedelta(hours=1))
            for type_ in types
            for zone in zones
            for hours in range(0, 24 * 200, 6)
            if since - timedelta(hours=6) < NOW - hours * timedelta(hours=1) <= until
        ]


def quote(instance_type: str, zone: str, since: datetime) -> Quote:
    usd = 0.1 + (since - datetime(2026, 1, 1, tzinfo=UTC)).total_seconds() % 977 / 1e4
    return Quote(instance_type=instance_type, zone=zone, usd_per_hour=usd, since=since)


def ask(
    cloud: Cloud,
    folder: Path,
    *,
    days: float,
    markets: Sequence[Market] = (HERE,),
    now: datetime = NOW,
) -> History:
    return history(
        markets,
        since=now - days * DAY,
        now=now,
        ask=cloud.ask,
        folder=folder,
    )


def midnight(days_ago: int) -> datetime:
    return NOW.replace(hour=0, minute=0) - days_ago * DAY


def test_days_that_are_over_are_asked_once_and_today_each_time(tmp_path: Path) -> None:
    cloud = Cloud()
    first = ask(cloud, tmp_path, days=3)
    second = ask(cloud, tmp_path, days=3)
    assert cloud.asked == [("us-east-1", midnight(3), NOW), ("us-east-1", midnight(0), NOW)]
    assert set(first.quotes) == set(second.quotes)
    assert not first.problem


def test_a_day_is_over_an_hour_after_its_end(tmp_path: Path) -> None:
    cloud = Cloud()
    early = midnight(0) + timedelta(minutes=30)
    ask(cloud, tmp_path, days=1, now=early)
    ask(cloud, tmp_path, days=0.1, now=early)
    assert cloud.asked[1][1] == midnight(1)


def test_only_the_days_that_lack_are_asked(tmp_path: Path) -> None:
    cloud = Cloud()
    ask(cloud, tmp_path, days=3, now=NOW - 2 * DAY)
    ask(cloud, tmp_path, days=5)
    assert cloud.asked[1] == ("us-east-1", midnight(2), NOW)


def test_a_market_that_is_new_is_asked_for_the_whole_time(tmp_path: Path) -> None:
    cloud = Cloud()
    ask(cloud, tmp_path, days=3)
    found = ask(cloud, tmp_path, days=3, markets=(HERE, THERE))
    assert cloud.asked[1][1] == midnight(3)
    assert {quote.zone for quote in found.quotes} == {"us-east-1a", "us-east-1b"}


def test_prices_older_than_the_cloud_remembers_are_not_asked_and_that_is_said(
    tmp_path: Path,
) -> None:
    cloud = Cloud()
    found = ask(cloud, tmp_path, days=200)
    assert cloud.asked[0][1] == midnight(KEPT.days)
    assert "more than 90 days ago" in found.problem


def test_a_refusal_leaves_what_was_known_and_says_why(tmp_path: Path) -> None:
    known = ask(Cloud(), tmp_path, days=3)
    found = ask(Cloud(refuses="EC2 tells nothing. Next: log in."), tmp_path, days=3)
    assert found.problem == "EC2 tells nothing. Next: log in."
    assert found.quotes
    assert set(found.quotes) < set(known.quotes)


def test_what_nothing_was_told_of_is_asked_again(tmp_path: Path) -> None:
    class Silent(Cloud):
        def ask(self, *given: Any) -> list[Quote]:
            super().ask(*given)
            return []

    cloud = Silent()
    ask(cloud, tmp_path, days=3)
    ask(cloud, tmp_path, days=3)
    assert [since for _, since, _ in cloud.asked] == [midnight(3)] * 2


@pytest.mark.parametrize("content", ["", "[]", '{"days": 3}', '{"days": {"x": []}}', "\x00"])
def test_a_file_that_cannot_be_read_is_as_none(tmp_path: Path, content: str) -> None:
    cloud = Cloud()
    ask(cloud, tmp_path, days=3)
    (file,) = tmp_path.iterdir()
    file.write_text(content)
    ask(cloud, tmp_path, days=3)
    assert cloud.asked[1][1] == midnight(3)
    assert json.loads(file.read_text())["days"]


def test_a_folder_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    blocked = tmp_path / "a file"
    blocked.write_text("")
    assert ask(Cloud(), blocked / "cache", days=1).quotes


@pytest.mark.parametrize(
    "market",
    [
        pytest.param(Market("g2-standard-4", "us-east1-b"), id="another cloud"),
        pytest.param(Market("../../.bashrc", "us-east-1a"), id="no type"),
    ],
)
def test_what_aws_does_not_sell_is_not_asked_of_it(tmp_path: Path, market: Market) -> None:
    cloud = Cloud()
    found = ask(cloud, tmp_path, days=1, markets=(market,))
    assert cloud.asked == []
    who = "Google Cloud keeps no record" if market.zone == "us-east1-b" else "AWS alone is asked"
    assert who in found.problem
    assert market.instance_type in found.problem
    assert list(tmp_path.iterdir()) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 60), st.floats(0.1, 20)), min_size=1, max_size=5))
def test_prices_from_the_cache_are_those_of_the_cloud(
    tmp_path_factory: pytest.TempPathFactory, asked: list[tuple[int, float]]
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    for ago, days in asked:
        now = NOW - ago * DAY
        cached = ask(Cloud(), folder, days=days, now=now)
        direct = Cloud().ask("", [HERE.instance_type], [HERE.zone], now - days * DAY, now)
        told = [
            list(PriceBook([], quotes=q).over(PLACE, now - days * DAY, now))
            for q in (cached.quotes, direct)
        ]
        assert told[0] == told[1]
        assert {piece.source for piece in told[0]} == {Source.HISTORY}


def test_the_cache_lies_where_the_user_keeps_such(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "spotrain" / "spot-prices"


# --- What EC2 is asked --------------------------------------------------------------------------


@pytest.fixture
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made up: nothing here may reach an account."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch, _credentials: None) -> Iterator[Any]:
    ec2 = aws.connect("us-east-1")
    monkeypatch.setattr(aws, "connect", lambda region: ec2)
    with Stubber(ec2) as stubber:
        yield stubber


def of_ec2() -> list[Quote]:
    return aws.spot_history("us-east-1", ["g4dn.xlarge"], ["us-east-1a"], NOW - DAY, NOW)


@pytest.mark.usefixtures("_credentials")
def test_a_day_can_be_asked_of_ec2(tmp_path: Path) -> None:
    with mock_aws():
        found = history(
            [HERE],
            since=NOW - DAY,
            now=NOW,
            ask=aws.spot_history,
            folder=tmp_path,
        )
    assert found.problem == ""


def test_all_pages_of_the_interval_are_read(answers: Any) -> None:
    record = {"InstanceType": "g4dn.xlarge", "AvailabilityZone": "us-east-1a", "Timestamp": NOW}
    asked = {
        "InstanceTypes": ["g4dn.xlarge"],
        "ProductDescriptions": list(aws.PRODUCTS),
        "Filters": ANY,
        "StartTime": NOW - DAY,
        "EndTime": NOW,
    }
    page = {"SpotPriceHistory": [{**record, "SpotPrice": "0.15"}], "NextToken": "more"}
    answers.add_response("describe_spot_price_history", page, asked)
    page = {"SpotPriceHistory": [{**record, "SpotPrice": "0.16"}], "NextToken": ""}
    answers.add_response("describe_spot_price_history", page, {**asked, "NextToken": "more"})
    assert [quote.usd_per_hour for quote in of_ec2()] == [0.15, 0.16]


@pytest.mark.parametrize(
    ("code", "step"),
    [
        ("UnauthorizedOperation", "ask for the right ec2:DescribeSpotPriceHistory"),
        ("RequestLimitExceeded", "try again in a minute"),
        ("RequestExpired", "log in to AWS"),
        ("AuthFailure", "AWS_PROFILE"),
        ("OptInRequired", "the region is not switched on"),
        ("InternalError", "see the message"),
    ],
)
def test_a_person_who_is_refused_is_told_what_to_do(answers: Any, code: str, step: str) -> None:
    answers.add_client_error("describe_spot_price_history", code, "You\nmay not")
    with pytest.raises(NoHistory, match=step) as refused:
        of_ec2()
    assert "\n" not in str(refused.value)


def test_who_is_not_logged_in_is_told_how(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log_out(monkeypatch, tmp_path)
    with pytest.raises(NoHistory, match="log in to AWS"):
        of_ec2()
    monkeypatch.setenv("AWS_PROFILE", "gone")
    with pytest.raises(NoHistory, match=r"profile \(gone\).*log in to AWS"):
        of_ec2()
