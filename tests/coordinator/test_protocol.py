"""Messages: what goes out comes in, and what nobody of ours sends is refused without harm."""

import contextlib
import json
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain.coordinator import protocol

WORLD = protocol.NewWorld(
    number=3,
    seats=(protocol.SeatInfo(id="a", address="10.0.0.1", ranks=8),),
    store_port=4711,
    restore=protocol.CheckpointInfo(world=2, step=40),
)


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(WORLD, id="world"),
        pytest.param(
            protocol.Hello(
                version=1,
                job="n/j/u",
                pod="a",
                address="::1",
                ranks=1,
                world=WORLD,
                leaving_seconds=3,
            ),
            id="hello",
        ),
        pytest.param(
            protocol.Progress(world=1, step=2, epoch=0, samples=8, metrics={"loss": 0.5}),
            id="progress",
        ),
        pytest.param(protocol.Starting(), id="no-fields"),
    ],
)
def test_a_message_survives_the_wire(message: object) -> None:
    kinds = {**protocol.FROM_AGENT, **protocol.FROM_COORDINATOR}
    assert protocol.decode(protocol.encode(message), kinds) == message


def test_fields_and_types_of_a_newer_peer_are_ignored() -> None:
    known = json.dumps({"type": "finished", "world": 4, "mood": "good"})
    assert protocol.decode(known, protocol.FROM_AGENT) == protocol.Finished(world=4)
    assert protocol.decode('{"type": "sing"}', protocol.FROM_AGENT) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("{", "not a JSON message", id="no-json"),
        pytest.param("[]", "a message is a JSON object", id="no-object"),
        pytest.param('{"type": 1}', "a message is a JSON object", id="no-type"),
        pytest.param('{"type": "finished"}', "finished: .*'world'", id="missing-field"),
        pytest.param('{"type": "finished", "world": "4"}', "finished.world: '4'", id="wrong-type"),
        pytest.param('{"type": "finished", "world": true}', "is not a int", id="bool-is-no-int"),
        pytest.param('{"type": "leaving", "seconds": NaN}', "NaN", id="not-a-number"),
        pytest.param("[" * 50_000, "not a JSON message", id="deep-nesting"),
    ],
)
def test_what_no_peer_sends_is_refused_with_its_place(text: str, why: str) -> None:
    with pytest.raises(protocol.ProtocolError, match=why):
        protocol.decode(text, protocol.FROM_AGENT)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
FIELDS = sorted(
    {name for kind in typing.get_args(protocol.FromAgent) for name in kind.__annotations__}
)


@given(
    st.sampled_from(sorted(protocol.FROM_AGENT)),
    st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=8),
)
def test_random_fields_are_decoded_or_refused_but_never_crash(
    kind: str, fields: dict[str, object]
) -> None:
    with contextlib.suppress(protocol.ProtocolError):
        protocol.decode(json.dumps({**fields, "type": kind}), protocol.FROM_AGENT)


@given(st.binary(max_size=200))
def test_random_bytes_are_refused_but_never_crash(data: bytes) -> None:
    with pytest.raises(protocol.ProtocolError):
        protocol.decode(data, {})
