"""What a run knows of its saves: their interval, and whether they fit into a notice."""

import logging
import re
from pathlib import Path

import pytest
import torch

from spotrain import contract
from spotrain.checkpoints.retention import Retention
from spotrain.train.checkpoint import Catalogue, CheckpointId
from spotrain.train.interval import PRIOR_INTERRUPTION_SECONDS, best_interval
from spotrain.train.pace import FIRST_SECONDS, Cost, Pace
from spotrain.train.parts import plan
from spotrain.train.saver import Save, Saver
from spotrain.train.solo import SoloChannel
from spotrain.train.usage import UsageError


def pace(*, fixed: float | None = None, grace: str = "90", fit: bool = True) -> Pace:
    environment = {contract.ENV_GRACE_SECONDS: grace} if grace else {}
    return Pace(fixed, fit_notice=fit, environment=environment)


def cost(seconds: float, *, stall: float = 0.5) -> Cost:
    return Cost(stall, seconds, 300_000_000)


def test_the_users_interval_holds_whatever_saves_cost() -> None:
    fixed = pace(fixed=7)
    fixed.note(cost(10))
    assert fixed.seconds == 7


def test_the_interval_follows_the_measured_cost_and_the_losses(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    found = pace()
    assert found.seconds == FIRST_SECONDS
    found.note(cost(3))
    quiet = best_interval(
        stall_seconds=0.5, write_seconds=3, seconds_between_losses=PRIOR_INTERRUPTION_SECONDS
    )
    assert found.seconds == pytest.approx(quiet, rel=0.01)
    assert "saves every 85 s: one stops training for 0.50 s" in caplog.text
    found.take_up({"seconds": 0, "losses": 8, "planned": False})
    assert found.seconds == pytest.approx(quiet / 10**0.5, rel=0.01)


def test_what_was_seen_goes_from_process_to_process() -> None:
    first = pace()
    first.take_up({"seconds": 5000, "losses": 2, "planned": False})
    second = pace()
    second.take_up(first.to_extra(planned=False))
    third = pace()
    third.take_up(second.to_extra(planned=True))
    assert (second.seen.losses, third.seen.losses) == (4, 4)
    assert third.seen.seconds == pytest.approx(5000, abs=60)


def test_the_estimate_is_logged_before_it_is_needed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    pace().require_fit(cost(2))
    assert caplog.messages == [
        "a save of 300 MB takes 2.0 s; a notice of 90 s has time for 68 s of saving"
    ]


def test_a_save_that_cannot_fit_is_refused_with_the_numbers_and_the_next_step() -> None:
    with pytest.raises(UsageError) as refused:
        pace(grace="15").require_fit(cost(6))
    said = str(refused.value)
    assert "a save of 300 MB took 6.0 s" in said
    assert "12 s, but of its 15 s a change may take 11 s" in said
    assert "terminationGracePeriodSeconds" in said
    assert "fit_notice=False" in said
    assert len(said) < 250  # a job's condition shows the last 300 characters of why it failed


def test_the_page_says_how_long_a_save_may_take_on_each_clouds_notice() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "clouds.md").read_text()
    told = re.findall(r"on (\d+)(?: seconds a save| it) may take (\d+\.\d)", page, re.IGNORECASE)
    assert [int(notice) for notice, _ in told] == [15, 90, 105]
    for notice, seconds in told:
        assert pace(grace=notice).unfit(cost(float(seconds) - 0.1)) == ""
        assert pace(grace=notice).unfit(cost(float(seconds) + 0.1)) != ""


def test_who_trains_all_the_same_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    stubborn = pace(grace="15", fit=False)
    stubborn.require_fit(cost(6))
    stubborn.note(cost(6))
    assert [record.levelno for record in caplog.records].count(logging.ERROR) == 1


def test_where_there_is_no_notice_nothing_has_to_fit() -> None:
    assert pace(grace="").unfit(cost(1000)) == ""


def test_a_refused_first_save_is_no_checkpoint(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path)
    saver = Saver(catalogue, SoloChannel(), Retention())
    save = Save(
        id=CheckpointId(1, 0),
        part=plan({"weights": torch.zeros(10)}),
        epoch=0,
        cursor=0,
        parent=None,
        extra={},
    )
    with pytest.raises(UsageError):
        saver.save_now(save, patience_seconds=0, check=pace(grace="1e-9").require_fit)
    assert (catalogue.manifests(), catalogue.store.folders()) == ([], [])
