"""Each cloud's zones are told from the others' by how they are written."""

import pytest

from spotrain.clouds.zones import aws_region, gcp_region


@pytest.mark.parametrize(
    ("zone", "aws", "gcp"),
    [
        ("us-east-1a", "us-east-1", None),
        ("us-gov-west-1b", "us-gov-west-1", None),
        ("us-west-2-lax-1a", "us-west-2", None),
        ("us-central1-a", None, "us-central1"),
        ("northamerica-northeast1-c", None, "northamerica-northeast1"),
        ("us-east1-b", None, "us-east1"),
        ("us-east1", None, None),
        ("zone-1", None, None),
        ("here", None, None),
        ("", None, None),
    ],
)
def test_the_region_is_read_off_the_zone(zone: str, aws: str | None, gcp: str | None) -> None:
    assert (aws_region(zone), gcp_region(zone)) == (aws, gcp)
