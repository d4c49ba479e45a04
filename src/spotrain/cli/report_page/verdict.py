"""The job in one sentence, and the figures behind it."""

from collections.abc import Iterator
from dataclasses import dataclass

from spotrain.cli.report_page.moments import lasted
from spotrain.cli.report_page.story import Story
from spotrain.cli.wording import count, dollars, percent
from spotrain.ledger.entry_goodput import goodput_of
from spotrain.ledger.prices import Source
from spotrain.ledger.time_split import ettr

_WENT = {
    "succeeded": "It succeeded after",
    "failed": "It failed after",
    "deleted": "It was deleted after",
    "": "It has been there for",
}


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A number that stands for itself, and what it means."""

    word: str
    value: str
    meaning: str


@dataclass(frozen=True, kw_only=True)
class Verdict:
    sentence: str
    figures: tuple[Figure, ...]


def judge(story: Story) -> Verdict:
    return Verdict(sentence=_sentence(story), figures=tuple(_figures(story)))


def steps_lost(story: Story) -> int:
    return sum(world.steps_lost or 0 for world in story.worlds)


def is_priced(story: Story) -> bool:
    """Has anybody named a price for what it held?"""
    return any(line.source is not Source.NONE for line in story.cost.lines)


def _sentence(story: Story) -> str:
    went = _WENT.get(story.job.outcome, "It ended after")
    parts = [f"{went} {lasted(story.record.life.seconds)}{_money(story)}"]
    if not story.worlds:
        parts.append("no world of it was formed" + ("" if story.has_ended else " yet"))
    elif (share := ettr(story.cost.split, story.worlds)) is not None:
        useful = percent(share)
        parts.append(f"{useful} of the time in which it wanted to train was of use")
    if story.worlds:
        parts.append(_changes(story))
    if story.is_suspended:
        parts.append("it is suspended now")
    why = story.job.message if story.job.outcome == "failed" else ""
    return "; ".join(parts) + "." + (f" Why: {why.rstrip('.')}." if why else "")


def _money(story: Story) -> str:
    if not is_priced(story):
        return ""
    said = f" and {'cost' if story.has_ended else 'has cost'} {dollars(story.cost.usd)}"
    saved = story.cost.saving.fraction
    if saved is None:
        return said
    if saved < 0:
        return f"{said}, {percent(-saved)} more than the same useful work on demand"
    return f"{said}, {percent(saved)} less than the same useful work on demand"


def _changes(story: Story) -> str:
    worlds, lost = count(len(story.worlds), "world"), steps_lost(story)
    if len(story.worlds) == 1 and not lost:
        is_over = story.has_ended or story.is_suspended
        return "one world did it all" if is_over else "it is still in its first world"
    again = f"{count(lost, 'step')} had to be done again" if lost else "no step was done twice"
    return f"it went through {worlds}, and {again}"


def _figures(story: Story) -> Iterator[Figure]:
    split, cost = story.cost.split, story.cost
    if is_priced(story):
        yield Figure(
            word="cost",
            value=dollars(cost.usd),
            meaning=f"{cost.amount.node_hours:,.2f} node hours"
            + (f", {dollars(cost.traffic_usd)} of traffic" if cost.traffic_usd else ""),
        )
    if is_priced(story) and cost.saving.fraction is not None:
        rival = dollars(cost.saving.on_demand_usd)
        yield Figure(
            word="saved",
            value=percent(cost.saving.fraction),
            meaning=f"the same useful work on demand: {rival}",
        )
    if (share := ettr(split, story.worlds)) is not None:
        useful, wanted = lasted(split.useful_seconds), lasted(split.wanted_seconds)
        yield Figure(
            word="ETTR", value=percent(share), meaning=f"{useful} of use in {wanted} wanted"
        )
    judged = goodput_of(story.worlds, story.record.stays, until=story.record.life.until)
    if judged:
        yield Figure(
            word="goodput",
            value=percent(judged.fraction),
            meaning="of what its workers could have done was kept",
        )
    if story.worlds:
        pauses = [w.pause_seconds for w in story.worlds if w.pause_seconds is not None]
        meaning = f"in {count(len(story.worlds), 'world')}"
        if pauses:
            meaning += f", longest pause {lasted(max(pauses))}"
        yield Figure(word="steps done twice", value=f"{steps_lost(story):,}", meaning=meaning)
    last = max((world.last_step or 0 for world in story.worlds), default=0)
    if last:
        sizes = [world.size for world in story.worlds]
        span = f"{min(sizes)} to {max(sizes)}" if min(sizes) < max(sizes) else f"{sizes[0]}"
        noun = "worker" if max(sizes) == 1 else "workers"
        yield Figure(word="last step", value=f"{last:,}", meaning=f"on {span} {noun}")
