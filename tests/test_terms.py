"""What the platform tells of its prices beside nodes', and of idle nodes."""

import pytest

from spotrain.job import StoragePrices, Terms, TermsError, parse_terms
from spotrain.job.terms import UNKNOWN

TEXT = "idleMinutes: 10\nstorage: {readUsdPerGb: 0.03, writtenUsdPerGb: 0.06}\n"


def test_terms_are_read() -> None:
    storage = StoragePrices(read_usd_per_gb=0.03, written_usd_per_gb=0.06)
    assert parse_terms(TEXT) == Terms(idle_minutes=10, storage=storage)


@pytest.mark.parametrize("text", ["", "{}", "storage: null"])
def test_what_nobody_has_named_is_unknown(text: str) -> None:
    assert parse_terms(text) == UNKNOWN
    assert parse_terms(text).storage is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("idleMinutes: -1", "idleMinutes: -1 is below the least, 0", id="range"),
        pytest.param("storage: {readUsdPerGb: 1}", "writtenUsdPerGb: is missing", id="half"),
        pytest.param("idle: 3", "idle", id="unknown"),
        pytest.param("[1]", "[1]", id="a list"),
        pytest.param("{", "is no YAML", id="no yaml"),
    ],
)
def test_terms_that_cannot_be_used_say_what_is_wrong(text: str, said: str) -> None:
    with pytest.raises(TermsError) as refused:
        parse_terms(text)
    assert "terms.yaml in the ConfigMap spotrain-pools cannot be used" in str(refused.value)
    assert said in str(refused.value)
