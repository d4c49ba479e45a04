"""What a job would make of a trace: worked examples, a published trace, and laws for all traces."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotrain.ledger.replay import Behaviour, Replayed, replay
from spotrain.ledger.trace_formats import read_events
from spotrain.ledger.traces import Trace

BAMBOO = Path(__file__).parents[1] / "bench/traces/bamboo-p3.csv"
CALM = Trace(((0.0, 4),), 100.0)
LOSS = Trace(((0.0, 4), (50.0, 3)), 100.0)
GROWTH = Trace(((0.0, 3), (50.0, 4)), 100.0)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    spans = draw(st.lists(st.tuples(st.integers(1, 300), st.integers(0, 6)), min_size=1))
    counts: list[tuple[float, int]] = []
    at = 0.0
    for seconds, nodes in spans:
        if not counts or counts[-1][1] != nodes:
            counts.append((at, nodes))
        at += seconds
    if not any(nodes for _, nodes in counts):
        counts = [(0.0, 1)]
    return Trace(tuple(counts), at)


behaviours = st.builds(
    Behaviour,
    pause_seconds=st.floats(0, 200),
    loss_pause_seconds=st.floats(0, 200),
    unnoticed=st.floats(0, 1),
    save_seconds=st.floats(0, 50),
    interval_seconds=st.floats(0.5, 1000),
    has_notice=st.booleans(),
    growth_loses=st.booleans(),
)


def test_a_job_that_loses_nothing_and_never_pauses_keeps_all() -> None:
    assert replay(LOSS, Behaviour(pause_seconds=0, has_notice=True)).goodput == 1


def test_a_loss_without_notice_costs_the_pause_and_the_work_since_the_last_save() -> None:
    found = replay(LOSS, Behaviour(pause_seconds=10, has_notice=False, interval_seconds=30))
    # Trains 40 s of the first 50, saves after 30; then pauses 10 s of 50 with three nodes.
    assert found == Replayed(
        useful=4 * 30 + 3 * 40, paused=40 + 30, saving=0, redone=40, capacity=350, seconds=100
    )


def test_with_notice_nothing_is_done_twice() -> None:
    found = replay(LOSS, Behaviour(pause_seconds=10, has_notice=True, save_seconds=2))
    assert (found.redone, found.saving, found.useful) == (0, 4 * 2, 4 * 38 + 3 * 40)


def test_growth_loses_work_only_where_it_interrupts_without_a_save() -> None:
    calm = Behaviour(pause_seconds=0, has_notice=True)
    rude = Behaviour(pause_seconds=0, has_notice=True, growth_loses=True)
    assert (replay(GROWTH, calm).redone, replay(GROWTH, rude).redone) == (0, 150)


def test_saves_take_their_share_of_an_undisturbed_run() -> None:
    found = replay(
        CALM,
        Behaviour(pause_seconds=0, has_notice=True, save_seconds=5, interval_seconds=20),
    )
    assert (found.useful, found.saving) == (4 * 80, 4 * 20)


def test_a_speed_that_does_not_scale_counts_in_samples() -> None:
    found = replay(
        LOSS, Behaviour(pause_seconds=0, has_notice=True), {4: 100.0, 3: 90.0}.__getitem__
    )
    assert found.useful == 50 * 100 + 50 * 90


@pytest.mark.parametrize(
    ("pause", "interval", "has_notice", "expected"),
    [(300, 600, False, 0.22), (46, 600, False, 0.49), (8, 60, False, 0.86), (4, 600, True, 0.98)],
)
def test_the_published_trace_gives_what_was_computed_for_it_elsewhere(
    pause: float, interval: float, has_notice: bool, expected: float
) -> None:
    trace = read_events(BAMBOO.read_text())
    behaviour = Behaviour(
        pause_seconds=pause, has_notice=has_notice, save_seconds=1, interval_seconds=interval
    )
    assert replay(trace, behaviour).goodput == pytest.approx(expected, abs=0.005)


def test_a_share_of_the_drops_can_come_without_notice() -> None:
    shrinking = Trace(tuple((10.0 * n, 9 - n) for n in range(9)), 90.0)
    half = Behaviour(
        pause_seconds=0, loss_pause_seconds=5, has_notice=True, unnoticed=0.5, save_seconds=0
    )
    found = replay(shrinking, half)
    # Of eight drops the second, fourth, sixth and eighth: 7, 5, 3 and 1 nodes stand still then.
    assert found.paused == 5 * (7 + 5 + 3 + 1)
    assert found.redone == 10 * (8 + 6 + 4 + 2)


def test_a_job_ends_when_its_work_is_done() -> None:
    calm = Behaviour(pause_seconds=10, has_notice=True, save_seconds=5, interval_seconds=20)
    found = replay(CALM, calm, work=4 * 30)
    assert (found.seconds, found.useful, found.is_done) == (10 + 20 + 5 + 10, 120, True)
    assert found.capacity == 4 * 45


def test_work_that_the_trace_has_no_time_for_is_not_done() -> None:
    found = replay(CALM, Behaviour(pause_seconds=10, has_notice=True), work=4 * 91)
    assert (found.seconds, found.useful, found.is_done) == (100, 360, False)


@given(traces(), behaviours, st.floats(0.01, 1))
def test_less_work_takes_no_longer_and_is_done_where_more_is(
    trace: Trace, behaviour: Behaviour, share: float
) -> None:
    whole = replay(trace, behaviour)
    if whole.useful > 0:
        part = replay(trace, behaviour, work=whole.useful * share)
        assert part.is_done
        assert part.useful == pytest.approx(whole.useful * share)
        assert part.seconds <= whole.seconds
        accounted = part.useful + part.paused + part.saving + part.redone
        assert accounted == pytest.approx(part.capacity)


@given(traces(), behaviours)
def test_every_second_of_every_node_is_accounted_for(trace: Trace, behaviour: Behaviour) -> None:
    found = replay(trace, behaviour)
    parts = (found.useful, found.paused, found.saving, found.redone)
    assert min(parts) >= 0
    assert sum(parts) == pytest.approx(found.capacity)
    assert found.capacity == pytest.approx(
        sum((end - start) * nodes for start, end, nodes in trace.spans)
    )


@given(traces(), behaviours)
def test_a_notice_never_hurts_where_saving_costs_nothing(
    trace: Trace, behaviour: Behaviour
) -> None:
    fields = vars(behaviour) | {"save_seconds": 0.0, "loss_pause_seconds": None}
    warned = replay(trace, Behaviour(**fields | {"has_notice": True}))
    unwarned = replay(trace, Behaviour(**fields | {"has_notice": False}))
    assert warned.useful >= unwarned.useful - 1e-6


@given(traces(), st.floats(1, 50), behaviours)
def test_compressing_a_trace_is_the_same_as_slowing_the_job(
    trace: Trace, factor: float, behaviour: Behaviour
) -> None:
    fields = vars(behaviour)
    slow = {name: fields[name] * factor for name in fields if name.endswith("_seconds")}
    compressed = replay(trace.compressed(factor), behaviour).goodput
    assert compressed == pytest.approx(replay(trace, Behaviour(**fields | slow)).goodput, abs=1e-6)


@given(traces(), st.data())
def test_windows_keep_the_counts_of_their_time(trace: Trace, data: st.DataObject) -> None:
    start = data.draw(st.floats(0, trace.seconds / 2))
    seconds = data.draw(st.floats(0.5, trace.seconds / 2))
    window = trace.window(start, seconds)
    at = data.draw(st.floats(0, seconds, exclude_max=True))
    inside = next(nodes for begin, end, nodes in window.spans if begin <= at < end)
    near = {
        nodes
        for begin, end, nodes in trace.spans
        if begin <= start + at + 1e-6 and start + at - 1e-6 < end
    }
    assert inside in near


def test_the_trace_keeps_its_shape_at_an_eighth_of_its_size() -> None:
    trace = read_events(BAMBOO.read_text()).scaled(most=32, to=4)
    assert {nodes for _, _, nodes in trace.spans} == {1, 2, 3, 4}
    assert trace.drops == 16
    assert trace.window(trace.busiest(12_000), 12_000).drops == 6


def test_a_trace_without_nodes_has_no_goodput() -> None:
    with pytest.raises(ValueError, match="no nodes"):
        replay(Trace(((0.0, 0),), 10.0), Behaviour(pause_seconds=0, has_notice=True))
