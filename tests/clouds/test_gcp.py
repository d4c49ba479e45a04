"""Spot prices of Compute Engine, from its list of prices as it is served."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from google.auth.exceptions import RefreshError as NoToken

from spotrain.clouds import gcp
from spotrain.clouds.gcp_skus import Key, Machine, Part, read_rates, usd_per_hour
from spotrain.clouds.prices import RefreshError
from spotrain.ledger.prices import Quote
from tests.clouds.google_server import (
    BROKEN,
    BUSY,
    DENIED,
    DISABLED,
    NOT_FOUND,
    THROTTLED,
    UNAUTHENTICATED,
    Answer,
    GoogleServer,
    google_server,
)
from tests.doctor.answers import pool

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
SKUS = f"cloudbilling/{gcp.COMPUTE_ENGINE}"
ZONE = "us-central1-a"


def sku(
    description: str,
    usd: float,
    *,
    usage: str = "Preemptible",
    regions: tuple[str, ...] = ("us-central1", "us-east1"),
    unit: str = "h",
) -> dict[str, Any]:
    """An entry of the list, in its form."""
    price = {"currencyCode": "USD", "units": str(int(usd)), "nanos": round(usd % 1 * 1e9)}
    expression = {"usageUnit": unit, "tieredRates": [{"startUsageAmount": 0, "unitPrice": price}]}
    return {
        "name": "services/6F81-5844-456A/skus/0000-0000-0000",
        "description": description,
        "category": {"resourceFamily": "Compute", "usageType": usage},
        "serviceRegions": list(regions),
        "pricingInfo": [{"pricingExpression": expression}],
    }


SPOT = (
    sku("Spot Preemptible N1 Predefined Instance Core running in Americas", 0.0063),
    sku("Spot Preemptible N1 Predefined Instance Ram running in Americas", 0.0008, unit="GiBy.h"),
    sku("Nvidia Tesla T4 GPU attached to Spot Preemptible VMs running in Americas", 0.14),
    sku("Spot Preemptible A3 Instance Core running in Americas", 0.0148),
    sku("Spot Preemptible A3 Instance Ram running in Americas", 0.0013, unit="GiBy.h"),
    sku("Nvidia H100 80GB GPU attached to Spot Preemptible VMs running in Americas", 5.88),
)
NOT_MEANT = (
    sku("N1 Predefined Instance Core running in Americas", 0.0316, usage="OnDemand"),
    sku("Nvidia Tesla T4 GPU running in Americas", 0.35, usage="OnDemand"),
    sku("Spot Preemptible N1 Custom Instance Core running in Americas", 0.99),
    sku("Reserved A3 Instance Core in Americas", 0.99),
    sku("Nvidia H100 80GB Mega GPU attached to Spot Preemptible VMs running in Americas", 9.27),
    sku("Nvidia Tesla T4 GPU attached to DWS Defined Duration VMs running in Americas", 0.99),
    sku("Storage PD Capacity", 0.04, usage="OnDemand", unit="GiBy.mo"),
    sku("Nvidia L4 GPU attached to Spot Preemptible VMs running in Iowa", 0.2, unit="mo"),
    {"description": "Spot Preemptible G2 Instance Core running in Iowa"},
)
N1 = {"name": "n1-standard-4", "guestCpus": 4, "memoryMb": 15360}
H100 = {"name": "a3-highgpu-1g", "guestCpus": 26, "memoryMb": 239616}
T4_USD = 4 * 0.0063 + 15 * 0.0008 + 0.14


def machine_path(zone: str, type: str) -> str:
    return f"compute/compute/v1/projects/my-project/zones/{zone}/machineTypes/{type}"


@pytest.fixture
def google() -> Iterator[GoogleServer]:
    """All that is asked for is answered; the list comes in two pages."""
    with google_server() as server:
        server.answers = {
            SKUS: [
                (200, {"skus": [*NOT_MEANT, *SPOT[:2]], "nextPageToken": "more"}),
                (200, {"skus": SPOT[2:], "nextPageToken": ""}),
            ],
            machine_path(ZONE, "n1-standard-4"): (200, N1),
            machine_path(ZONE, "a3-highgpu-1g"): (200, H100),
        }
        yield server


def ask(google: GoogleServer, *types: str, client: Any = None, **changed: Any) -> list[Quote]:
    client = client or google.client()
    options = {"zones": (ZONE,), "instance_types": types or ("n1-standard-4",), **changed}
    own = pool(**options)
    return gcp.spot_quotes(client, gcp.Catalogue(client), "my-project", own, now=NOW)


def test_a_machine_costs_what_its_parts_do(google: GoogleServer) -> None:
    (found,) = ask(google)
    assert (found.instance_type, found.zone, found.since) == ("n1-standard-4", ZONE, NOW)
    assert found.usd_per_hour == pytest.approx(T4_USD)
    pages = [parameters for path, parameters in google.asked if path == SKUS]
    assert [page.get("pageToken") for page in pages] == [None, "more"]
    assert all(page["currencyCode"] == "USD" for page in pages)


def test_every_gpu_of_a_machine_counts(google: GoogleServer) -> None:
    (found,) = ask(google, gpus_per_node=4)
    assert found.usd_per_hour == pytest.approx(T4_USD + 3 * 0.14)


def test_series_with_gpus_of_their_own_are_priced_alike(google: GoogleServer) -> None:
    (found,) = ask(google, "a3-highgpu-1g", gpu="h100")
    assert found.usd_per_hour == pytest.approx(26 * 0.0148 + 234 * 0.0013 + 5.88)


def test_what_a_zone_does_not_sell_has_no_price_there(google: GoogleServer) -> None:
    found = ask(google, zones=(ZONE, "us-central1-f"))
    assert [quote.zone for quote in found] == [ZONE]


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"gpu": "v100"}, id="no-price-of-its-gpu"),
        pytest.param({"zones": ("us-east-1a",)}, id="a-zone-of-another-cloud"),
        pytest.param({"zones": ("asia-east1-a",)}, id="a-zone-without-the-machine"),
        pytest.param({"instance_types": ("m9-odd-4",)}, id="an-unknown-machine"),
    ],
)
def test_what_cannot_be_priced_whole_is_not_priced(
    google: GoogleServer, changed: dict[str, Any]
) -> None:
    google.answers[machine_path(ZONE, "m9-odd-4")] = (200, {**N1, "name": "m9-odd-4"})
    assert ask(google, **changed) == []


def test_one_list_serves_all_pools(google: GoogleServer) -> None:
    client = google.client()
    catalogue = gcp.Catalogue(client)
    for name in ("a", "b", "c"):
        own = pool(name, zones=(ZONE,), instance_types=("n1-standard-4",))
        assert gcp.spot_quotes(client, catalogue, "my-project", own, now=NOW)
    assert google.paths.count(SKUS) == 2


@pytest.mark.parametrize("passing", [BUSY, BROKEN], ids=["throttled", "broken"])
def test_a_question_that_meets_a_busy_server_is_asked_again(
    google: GoogleServer, passing: Answer
) -> None:
    path = machine_path(ZONE, "n1-standard-4")
    google.answers[path] = [passing, passing, (200, N1)]
    assert len(ask(google)) == 1
    assert google.paths.count(path) == 3


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param(DENIED, "compute.machineTypes.get: pulumi up", id="denied"),
        pytest.param(THROTTLED, "the next run asks again", id="throttled-as-compute-says-it"),
        pytest.param(BUSY, "the next run asks again", id="throttled-as-others-say-it"),
        pytest.param(BROKEN, "the next run asks again", id="broken"),
        pytest.param(UNAUTHENTICATED, "check the Workload Identity", id="unauthenticated"),
        pytest.param(DISABLED, "switch the API on", id="the-api-is-off"),
        pytest.param((400, "nonsense"), "see the message", id="something-else"),
    ],
)
@pytest.mark.parametrize("path", [SKUS, machine_path(ZONE, "n1-standard-4")])
def test_a_refusal_says_what_to_do_in_one_line(
    google: GoogleServer, path: str, answer: Answer, said: str
) -> None:
    google.answers[path] = answer
    with pytest.raises(RefreshError, match=said) as refused:
        ask(google)
    assert "\n" not in str(refused.value)


def test_a_list_that_is_not_there_is_an_error_and_no_empty_answer(google: GoogleServer) -> None:
    google.answers[SKUS] = NOT_FOUND
    with pytest.raises(RefreshError, match="NOT_FOUND"):
        ask(google)


def test_a_server_that_is_not_there_is_told() -> None:
    with google_server() as server:
        client = server.client()
    with pytest.raises(RefreshError, match=r"Unreachable.*Next: the next run asks again"):
        ask(server, client=client)


def test_whoever_has_no_credentials_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "gone.json"))
    with pytest.raises(RefreshError, match=r"NoCredentials.*application-default login"):
        gcp.connect()


def test_credentials_that_have_run_out_are_told(
    google: GoogleServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = google.client()

    def expired(*_: object, **__: object) -> None:
        raise NoToken("invalid_grant: Token has been expired or revoked.")  # type: ignore[no-untyped-call]

    monkeypatch.setattr("google.auth.credentials.AnonymousCredentials.before_request", expired)
    with pytest.raises(RefreshError, match=r"NoCredentials: invalid_grant"):
        ask(google, client=client)


# --- What the list says ---------------------------------------------------------------------------


def test_only_spot_prices_of_known_parts_are_read() -> None:
    found = dict(read_rates([*NOT_MEANT, *SPOT]))
    assert len(found) == 2 * (len(SPOT) + 1)  # and the Mega, which has a name of its own
    assert found[Key("us-east1", Part.gpu, "H100 80GB Mega")] == 9.27
    assert found[Key("us-central1", Part.ram, "N1 Predefined")] == 0.0008


def test_the_price_beyond_a_free_amount_counts() -> None:
    tiered = sku("Nvidia L4 GPU attached to Spot Preemptible VMs running in Iowa", 0.2)
    rates = tiered["pricingInfo"][0]["pricingExpression"]["tieredRates"]
    free = {"startUsageAmount": 0, "unitPrice": {"units": "0", "nanos": 0}}
    rates.insert(0, free)
    assert set(dict(read_rates([tiered])).values()) == {0.2}


def test_a_machine_without_gpus_costs_its_share_of_a_server() -> None:
    rates = dict(read_rates(SPOT))
    machine = Machine(type="n1-standard-4", vcpus=4, memory_gib=15)
    usd = usd_per_hour(machine, gpu="cpu", gpus=0, region="us-central1", rates=rates)
    assert usd == pytest.approx(T4_USD - 0.14)


# --- Nodes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider_id", "expected"),
    [
        (
            "gce://my-project/us-central1-a/gke-dev-t4-1a2b3c4d-x1y2",
            ("my-project", "us-central1-a", "gke-dev-t4-1a2b3c4d-x1y2"),
        ),
        ("gce://example.com:old/us-east1-b/n", ("example.com:old", "us-east1-b", "n")),
        ("aws:///us-east-1a/i-0123456789abcdef0", None),
        ("gce://my-project/us-central1-a", None),
        ("", None),
    ],
)
def test_a_node_says_which_machine_it_is(
    provider_id: str, expected: tuple[str, str, str] | None
) -> None:
    assert gcp.instance_of(provider_id) == expected
