"""What the report says and draws. How a browser shows it: tests/cli/test_report_browser.py."""

import math
import re
from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spotrain.cli.report_page.curves import draw_metrics, draw_speed
from spotrain.cli.report_page.moments import lasted
from spotrain.cli.report_page.page import render
from spotrain.cli.report_page.places import Colours
from spotrain.cli.report_page.scale import MOST_TICKS, TimeAxis, number, number_ticks
from spotrain.cli.report_page.story import Story
from spotrain.cli.report_page.tables import time_shares
from spotrain.cli.report_page.timeline import LEAST_WIDTH, TOP, draw_timeline
from spotrain.cli.report_page.verdict import judge
from spotrain.ledger.entries import MetricsEntry, WorldEntry
from spotrain.ledger.job_cost import Hours
from spotrain.ledger.time_split import Span
from tests.cli.report_stories import BEGIN, STORIES, at, empty, hostile, long, rich, tiny

HOSTILE = st.text(st.characters(codec="utf-8") | st.sampled_from("<>\"'&{}%=/`"), max_size=40)


class Page(HTMLParser):
    """Tags with the names of their attributes, and all text and all values."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self.text += "".join(value or "" for _, value in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


@settings(max_examples=40)
@given(HOSTILE)
def test_text_from_outside_never_becomes_markup(text: str) -> None:
    harmless = Page(render(hostile("x" * 10)))
    page = Page(render(hostile(text)))
    # Words may make a row more or less (a place that comes twice), but no tag that is not ours.
    assert set(page.tags) <= set(harmless.tags) | {("td", ("data-label", "class"))}
    assert page.tags.count(("script", ())) == 0


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("</title><script>alert(1)</script>", id="script"),
        pytest.param('" onload="alert(1)', id="attribute"),
        pytest.param("{{ 7 * 7 }}{% raw %}", id="template"),
        pytest.param("</style><img src=http://evil>", id="image"),
    ],
)
def test_hostile_text_is_shown_as_it_is(text: str) -> None:
    page = Page(render(hostile(text)))
    assert page.text.count(text) > 10
    assert not {"script", "img"} & {tag for tag, _ in page.tags}
    assert not {name for _, names in page.tags for name in names if name.startswith("on")}


def test_characters_that_turn_or_hide_text_are_replaced() -> None:
    page = render(hostile("pay\u202eyap\x00\x1b[31m"))
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\x1b]", page)
    assert "pay\N{REPLACEMENT CHARACTER}yap" in page


@pytest.mark.parametrize("name", STORIES)
def test_the_page_asks_for_nothing_else(name: str) -> None:
    page = render(STORIES[name]())
    assert "http" not in page.replace('http-equiv="Content-Security-Policy"', "")
    assert "default-src 'none'" in page


def test_the_verdict_has_the_money_the_time_and_the_steps() -> None:
    assert judge(rich()).sentence == (
        "It succeeded after 3 h 15 min and cost $3.84, 63.2% less than the same useful work on "
        "demand; 87.8% of the time in which it wanted to train was of use; it went through "
        "6 worlds, and 252 steps had to be done again."
    )


def test_of_a_job_that_has_failed_the_verdict_says_why() -> None:
    why = "local rank 0 ended with code 3 (restarts allowed: 6, all used)."
    failed = replace(tiny().job, outcome="failed", message=why)
    assert judge(replace(tiny(), job=failed)).sentence.endswith(f". Why: {why}")
    done = replace(failed, outcome="succeeded")
    assert "Why" not in judge(replace(tiny(), job=done)).sentence


def test_without_prices_the_verdict_names_no_dollars() -> None:
    verdict = judge(tiny())
    assert "$" not in verdict.sentence
    assert [figure.word for figure in verdict.figures][:2] == ["ETTR", "goodput"]


def test_a_suspended_job_is_not_said_to_be_in_progress() -> None:
    story = replace(
        rich(), job=replace(rich().job, outcome="", ended_at=None), present_state="suspended"
    )
    assert judge(story).sentence.endswith("; it is suspended now.")
    page = render(story)
    assert 'class="state open">suspended<' in page
    assert "in progress" not in page


def test_a_machine_without_gpus_is_paid_for_by_the_node_hour_alone() -> None:
    cost = tiny().cost
    lines = [replace(each, amount=replace(each.amount, gpu_hours=0.0)) for each in cost.lines]
    none = Hours(useful=0.0, lost=0.0, boot=0.0, idle=0.0)
    amount = replace(cost.amount, gpu_hours=0.0)
    story = replace(tiny(), cost=replace(cost, lines=tuple(lines), amount=amount, gpu_hours=none))
    page = render(story)
    assert "node hours held" in page
    assert not re.search(r"\bGPU (h|hours)\b", page)


def test_a_job_that_waits_says_so() -> None:
    assert judge(empty()).sentence == (
        "It has been there for 4 min; no world of it was formed yet."
    )


def test_causes_of_lost_time_add_up_to_the_wanted_time() -> None:
    assert sum(row.share for row in time_shares(rich())) == pytest.approx(1)


def test_each_world_is_drawn_where_and_as_high_as_it_was() -> None:
    story = rich()
    drawn = draw_timeline(story, Colours(story))
    seconds = story.record.life.seconds
    sixth = [bar for bar in drawn.bars if bar.title.startswith("World 6,")][-1]
    began = (story.worlds[5].published_at - BEGIN) / timedelta(seconds=1)
    assert sixth.x == pytest.approx(100 * began / seconds, abs=0.01)
    assert sixth.x + sixth.width == pytest.approx(100, abs=0.01)
    assert (sixth.y, sixth.y + sixth.height) == (TOP, drawn.floor)  # 8 of 8 workers


def test_workers_in_two_places_stand_upon_each_other() -> None:
    story = rich()
    drawn = draw_timeline(story, Colours(story))
    spot, demand = [b for b in drawn.bars if b.title.startswith("World 5,") and not b.starting]
    assert spot.kind != demand.kind
    assert demand.y + demand.height == pytest.approx(spot.y)


def test_what_ended_each_world_is_marked_the_gravest_on_top() -> None:
    story = rich()
    lanes = draw_timeline(story, Colours(story)).lanes
    assert [(lane.word, len(lane.marks)) for lane in lanes] == [
        ("loss", 1),
        ("failure", 1),
        ("notice", 1),
        ("suspended", 1),
        ("growth", 1),
        ("finished", 1),
        ("checkpoint", 3),
    ]
    assert "no pong for 10 s" in lanes[0].marks[0].title
    assert "212 steps had to be done again" in lanes[0].marks[0].title


def test_nothing_is_drawn_outside_of_the_figure() -> None:
    story = long()
    drawn = draw_timeline(story, Colours(story))
    assert len(story.worlds) == 200
    for bar in (*drawn.bars, *drawn.bands):
        assert 0 <= bar.x <= bar.x + bar.width <= 100 + LEAST_WIDTH
        assert bar.y >= TOP - 1e-6
        assert bar.y + bar.height <= drawn.floor + 1e-6


def trained(story: Story) -> WorldEntry:
    """60 steps of 10 samples, in 30 seconds after the first."""
    return replace(
        story.worlds[0],
        restored_step=0,
        last_step=60,
        samples_per_step=10,
        first_step_at=at(5),
        last_step_at=at(5.5),
    )


def test_the_speed_of_a_world_is_that_between_its_first_and_last_step() -> None:
    story = rich()
    speed = draw_speed(replace(story, record=replace(story.record, worlds=[trained(story)])))
    assert speed is not None
    assert speed.highest == pytest.approx(59 * 10 / 30)


def test_a_world_that_had_no_step_to_do_does_not_change_what_the_others_speed_is_told_in() -> None:
    story = rich()
    before = trained(story)
    found = replace(before, number=9, restored_step=60, samples_per_step=0, last_step_at=at(6))
    speed = draw_speed(replace(story, record=replace(story.record, worlds=[before, found])))
    assert speed is not None
    assert (speed.unit, len(speed.strokes)) == ("samples/s", 1)


def test_of_a_step_that_was_done_again_the_last_value_counts() -> None:
    told = [(10, 3.0), (20, 2.0), (30, 9.0), (25, 1.5), (35, 1.0)]
    metrics = [MetricsEntry(at=at(n), step=s, values={"loss": v}) for n, (s, v) in enumerate(told)]
    curves, _ = draw_metrics(replace(rich(), metrics=metrics))
    assert (curves[0].points, curves[0].most) == (4, "3")


def test_the_loss_comes_first_and_what_has_no_room_is_named() -> None:
    values = {f"metric-{n}": 1.0 for n in range(8)} | {"loss": 2.0}
    metrics = [MetricsEntry(at=at(n), step=n, values=values) for n in range(1, 4)]
    curves, left_out = draw_metrics(replace(rich(), metrics=metrics))
    assert curves[0].name == "loss"
    assert left_out == ["metric-5", "metric-6", "metric-7"]


def test_what_has_diverged_is_left_out_of_a_curve() -> None:
    values = [1.0, math.nan, math.inf, 1.7e308, -1.7e308, 2.0]
    metrics = [MetricsEntry(at=at(n), step=n, values={"loss": v}) for n, v in enumerate(values)]
    curves, _ = draw_metrics(replace(rich(), metrics=metrics))
    assert (curves[0].points, curves[0].first, curves[0].last) == (2, "1", "2")


@example(0.0, 5e-324)
@example(-2.2250738585e-313, 200000000001.0)
@example(137438953473.0, 6.103515625e-05)
@given(st.floats(-1e12, 1e12), st.floats(0, 1e12))
def test_numbers_on_an_axis_reach_from_below_to_above(low: float, spread: float) -> None:
    high = low + spread
    ticks, unseen = number_ticks(low, high), max(abs(low), abs(high)) * 1e-9
    assert ticks[0] <= low + unseen
    assert ticks[-1] >= high - unseen
    assert 2 <= len(ticks) <= 7
    assert ticks == sorted(set(ticks))


@given(st.floats(1, 3e8))
def test_a_time_axis_has_a_few_labels_in_order(seconds: float) -> None:
    ticks = TimeAxis(Span(BEGIN, BEGIN + timedelta(seconds=seconds))).ticks()
    assert len(ticks) <= MOST_TICKS + 1
    places = [tick.at for tick in ticks]
    assert places == sorted(places)
    assert all(0 <= place <= 100 for place in places)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (0.1234, "0.12 s"),
        (59.6, "1 min"),
        (200, "3 min 20 s"),
        (3600 * 5 + 130, "5 h 2 min"),
        (86400 * 3 + 3600 * 4, "3 d 4 h"),
    ],
)
def test_stretches_of_time_are_said_in_their_two_largest_units(seconds: float, said: str) -> None:
    assert lasted(seconds) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "0"), (1_250_000, "1.25M"), (1250, "1,250"), (0.0823, "0.0823"), (-41.26, "-41.3")],
)
def test_numbers_have_few_figures(value: float, said: str) -> None:
    assert number(value) == said
