"""What data costs: the arithmetic of the worked example, and what the preview says."""

from dataclasses import replace
from typing import Any

import pytest

from stacks.aws.costs import bill, pool_price
from stacks.aws.schema import AwsSettings
from stacks.aws.storage_costs import (
    IMAGENET,
    bucket,
    bursting,
    bursting_read_hours,
    elastic,
    gpus_usd,
    places,
    storage_prices,
)
from stacks.schema import parse
from stacks.stack_file import read_config

PACKED = replace(IMAGENET, files=1500)


def dev(**storage: Any) -> AwsSettings:
    settings = parse({**read_config("dev")["settings"], "storage": storage}, source="dev")
    assert isinstance(settings, AwsSettings)
    return settings


def test_elastic_reads_cost_more_than_the_gpus_that_they_feed() -> None:
    settings = dev()
    pool = pool_price(settings.pools[0], settings)
    gpus = gpus_usd(IMAGENET, pool)
    assert gpus == 4 * 20 * pool.spot_usd_per_hour
    assert elastic(IMAGENET).usd_read == pytest.approx(150 * 90 * 0.03)
    assert elastic(IMAGENET).usd_read > 20 * gpus


def test_checkpoints_are_billed_as_often_as_they_are_written() -> None:
    assert elastic(IMAGENET).usd_written == pytest.approx(0.3 * 120 * 0.06)
    often = replace(IMAGENET, checkpoint_gb=10, checkpoint_minutes=2)
    assert elastic(often).usd_written == pytest.approx(10 * 600 * 0.06)


def test_bursting_costs_nothing_but_the_time_of_the_gpus() -> None:
    assert bursting(IMAGENET).usd_per_run == 0
    # 150 GB earn 20 MiB/s of reads, and 13.5 TB are to be read
    assert bursting_read_hours(IMAGENET) == pytest.approx(174.8, abs=0.1)
    assert bursting_read_hours(IMAGENET) > 8 * IMAGENET.hours


def test_small_files_cost_more_on_s3_than_on_efs_and_large_ones_next_to_nothing() -> None:
    opened = IMAGENET.files * 90
    assert bucket(IMAGENET).usd_read == pytest.approx(opened * (0.0054 + 0.0004) / 1000)
    assert bucket(IMAGENET).usd_read > elastic(IMAGENET).usd_read
    assert bucket(PACKED).usd_read < 2


def test_a_cache_that_holds_the_data_set_saves_the_reads_and_not_the_openings() -> None:
    saved = bucket(IMAGENET).usd_read - bucket(IMAGENET, is_cached=True).usd_read
    assert saved == pytest.approx(IMAGENET.files * (90 - 4) * 0.0004 / 1000)


def test_bytes_at_rest_cost_a_thirteenth_on_s3() -> None:
    efs, *_, s3 = places(IMAGENET)
    assert efs.usd_per_month / s3.usd_per_month == pytest.approx(13, abs=0.1)


def test_the_preview_prices_what_the_stack_file_asks_for() -> None:
    plain = " ".join(bill(dev(), {}).usage)
    assert "EFS $0.30 per GB-month" in plain
    assert not any(word in plain for word in ("read", "Backups", "S3"))
    asked = " ".join(bill(dev(throughput="elastic", backup=True, bucket=True), {}).usage)
    assert "$0.03 per GB read, $0.06 written" in asked
    assert "Backups of EFS $0.05 per GB-month" in asked
    assert "S3 $0.023 per GB-month, and $5.40 for a million files opened" in asked


KEPT = "arn:aws:elasticfilesystem:us-east-1:123456789012:file-system/fs-0123456789abcdef0"


def test_a_job_pays_for_moving_bytes_by_the_throughput_that_the_stack_file_asks_for() -> None:
    free = storage_prices(dev())
    assert free is not None
    assert (free.read_usd_per_gb, free.written_usd_per_gb) == (0, 0)
    paid = storage_prices(dev(throughput="elastic"))
    assert paid is not None
    assert (paid.read_usd_per_gb, paid.written_usd_per_gb) == (0.03, 0.06)


def test_how_a_file_system_of_somebody_elses_is_billed_is_unknown() -> None:
    assert storage_prices(dev(file_system=KEPT)) is None
