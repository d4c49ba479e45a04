"""The report as HTML: one file, which asks for nothing else and runs no script."""

import unicodedata
from base64 import b64encode
from functools import cache
from hashlib import sha256
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from spotrain.cli.cost_view import traffic_in_words
from spotrain.cli.report_page import tables
from spotrain.cli.report_page.curves import draw_metrics, draw_speed
from spotrain.cli.report_page.moments import clock, day, lasted, moment
from spotrain.cli.report_page.places import Colours
from spotrain.cli.report_page.story import Story
from spotrain.cli.report_page.timeline import draw_timeline
from spotrain.cli.report_page.verdict import is_priced, judge

_TEMPLATES: Final = "spotrain.cli.report_page"
_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
_BIDI: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")
"""They turn the order of the text around them."""


def render(story: Story) -> str:
    """The page. Nothing of the story becomes markup, whatever it holds."""
    environment = _environment()
    style = environment.get_template("style.css").render().strip()
    colours = Colours(story)
    unit, hours = tables.hour_shares(story)
    metrics, left_out = draw_metrics(story)
    return environment.get_template("page.html").render(
        style=Markup(style),
        style_hash=b64encode(sha256(f"\n{style}\n".encode()).digest()).decode(),
        story=story,
        state=story.state,
        verdict=judge(story),
        timeline=draw_timeline(story, colours),
        legend=tables.legend(story, colours),
        worlds=tables.world_table(story),
        time_shares=tables.time_shares(story),
        speed=draw_speed(story),
        metrics=metrics,
        metrics_left_out=left_out,
        cost=tables.cost_table(story, colours),
        is_priced=is_priced(story),
        price_sources=tables.price_sources(story),
        traffic=traffic_in_words(story.cost),
        hour_unit=unit,
        hour_shares=hours,
        checkpoints=tables.checkpoint_table(story.checkpoints[: tables.NEWEST]),
        older_checkpoints=tables.checkpoint_table(story.checkpoints[tables.NEWEST :]),
    )


def visible(text: str) -> str:
    """Text from outside, without what is not seen but acts: control characters, text direction."""
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character in "\t\n\r":
        return " "
    acts = character in _BIDI or unicodedata.category(character) in ("Cc", "Cs", "Cn")
    return _REPLACEMENT if acts else character


def _finalize(value: Any) -> Any:
    """Of every expression's value, before it is escaped."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"moment": moment, "day": day, "clock": clock, "lasted": lasted}
    return environment
