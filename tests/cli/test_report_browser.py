"""How the report looks in a real browser: nothing overlaps, everything can be read, nothing is
asked for. Screenshots of a run: SPOTRAIN_SCREENSHOTS=folder."""

import os
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from spotrain.cli.report_page.page import render
from tests.cli.report_stories import STORIES, hostile

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="needs Chromium, and there is none: make browser installs it"
)
WIDTHS = (1280, 400)
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
LEAST_TEXT_CONTRAST = 4.5
LEAST_GRAPHIC_CONTRAST = 3.0
"""WCAG 2.2, level AA."""

TEXTS = r"""
() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement;
    const unseen = 'title, defs, details:not([open]) > :not(summary)';
    if (!node.data.trim() || parent.closest(unseen)) continue;
    const style = getComputedStyle(parent);
    if (style.visibility === 'hidden' || style.display === 'none') continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.width < 1 || box.height < 1) continue;
      // The ink of a line is smaller than its box: its leading may overlap.
      const spare = Math.max(0, box.height - parseFloat(style.fontSize)) / 2;
      found.push({text: node.data.trim().slice(0, 60), left: box.left, right: box.right,
                  top: box.top + spare, bottom: box.bottom - spare});
    }
  }
  return found;
}
"""
CONTRASTS = r"""
() => {
  const parse = text => (text.match(/[\d.]+/g) || []).map(Number);
  const linear = c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = colour => {
    const [r, g, b] = colour.map(c => linear(c / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [most, least] = [light(a), light(b)].sort((p, q) => q - p);
    return (most + 0.05) / (least + 0.05);
  };
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    throw new Error('no background');
  };
  const found = {text: [], graphic: []};
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || parent.closest('title, defs')) continue;
    const style = getComputedStyle(parent);
    const ink = parse(parent.closest('svg') ? style.fill : style.color);
    found.text.push([walker.currentNode.data.trim().slice(0, 40), ratio(ink, behind(parent))]);
  }
  const drawn = '[class^=place-]:not(.starting), .stroke, .useful, .lost, .mark';
  for (const shape of document.querySelectorAll('svg :is(' + drawn + ')')) {
    const ink = parse(getComputedStyle(shape).fill);
    found.graphic.push([shape.getAttribute('class'), ratio(ink, behind(shape.closest('div')))]);
  }
  return found;
}
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # Without its sandbox, which root cannot have: it opens only pages that are made here.
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@cache
def page_of(name: str) -> str:
    return render(hostile("W" * 60) if name == "wide" else STORIES[name]())


@pytest.fixture(params=[(scheme, width) for scheme in SCHEMES for width in WIDTHS], ids=str)
def shown(request: pytest.FixtureRequest, browser: Browser, tmp_path: Path) -> Iterator["Shown"]:
    scheme, width = request.param
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, has_touch=width < 500
    )
    yield Shown(context.new_page(), tmp_path, f"{scheme}-{width}")
    context.close()


class Shown:
    """Pages of one width and one colour scheme."""

    def __init__(self, page: Page, folder: Path, name: str) -> None:
        self.page = page
        self.asked: list[str] = []
        self.said: list[str] = []
        self._folder, self._name = folder, name
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))

    def open(self, name: str, *, unfolded: bool = False) -> None:
        file = self._folder / f"{name}.html"
        file.write_text(page_of(name))
        self.page.goto(file.as_uri())
        if folder := os.environ.get("SPOTRAIN_SCREENSHOTS"):
            path = Path(folder) / f"{name}-{self._name}.png"
            self.page.screenshot(path=path, full_page=True)
        if unfolded:
            self.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")


def overlaps(boxes: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Pairs of texts whose ink shares more than a pixel."""
    boxes = sorted(boxes, key=lambda box: box["top"])
    found = []
    for index, one in enumerate(boxes):
        for other in boxes[index + 1 :]:
            if other["top"] >= one["bottom"] - 1:
                break
            if other["left"] < one["right"] - 1 and one["left"] < other["right"] - 1:
                found.append((one["text"], other["text"]))
    return found


@pytest.mark.parametrize("name", [*STORIES, "wide"])
def test_the_report_can_be_read(shown: Shown, name: str) -> None:
    shown.open(name, unfolded=True)
    texts = shown.page.evaluate(TEXTS)
    assert len(texts) > 20
    assert overlaps(texts) == []
    width = shown.page.viewport_size["width"] if shown.page.viewport_size else 0
    assert [text for text in texts if text["left"] < 0 or text["right"] > width] == []
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= width

    contrasts = shown.page.evaluate(CONTRASTS)
    assert contrasts["text"]
    assert [pair for pair in contrasts["text"] if pair[1] < LEAST_TEXT_CONTRAST] == []
    assert [pair for pair in contrasts["graphic"] if pair[1] < LEAST_GRAPHIC_CONTRAST] == []

    assert [url for url in shown.asked if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in shown.asked if url.startswith("file:")]) == 1
    assert shown.said == []  # nothing was refused by the page's own policy either


def test_overlapping_texts_would_be_found(shown: Shown) -> None:
    shown.open("tiny")
    shown.page.evaluate("document.querySelector('.verdict').style.marginTop = '-24px'")
    assert overlaps(shown.page.evaluate(TEXTS))


def test_every_world_and_mark_can_be_pointed_at(shown: Shown) -> None:
    """The browser shows the title of what lies under the pointer."""
    shown.open("rich")
    under = """
    () => [...document.querySelectorAll('section:first-of-type .canvas title')].map(title => {
      const box = title.parentElement.getBoundingClientRect();
      title.parentElement.scrollIntoView({block: 'center'});
      const seen = title.parentElement.getBoundingClientRect();
      const hit = document.elementFromPoint(seen.left + seen.width / 2, seen.top + seen.height / 2);
      return [title.textContent, hit && hit.querySelector(':scope > title') ?
              hit.querySelector(':scope > title').textContent : '', box.width];
    })
    """
    pointed = shown.page.evaluate(under)
    missed = [title for title, hit, width in pointed if width > 2 and hit != title]
    assert len(pointed) > 15
    # A time of which nothing is known lies over a world, and where it does it is told instead.
    assert missed in ([], [title for title in missed if title.startswith("World 4,")])


def test_no_mark_sticks_out_of_its_plot(shown: Shown) -> None:
    """The last ones are at the very end of the time that is shown."""
    shown.open("rich")
    outside = """
    () => [...document.querySelectorAll('.canvas .mark use')].map(mark => {
      const box = mark.getBoundingClientRect();
      const plot = mark.closest('.plot').getBoundingClientRect();
      return [box.left - plot.left, plot.right - box.right];
    }).filter(([left, right]) => left < 0 || right < 0)
    """
    assert shown.page.locator(".canvas .mark use").count() > 5
    assert shown.page.evaluate(outside) == []


def test_a_page_without_styles_would_be_noticed(shown: Shown) -> None:
    """The policy allows the page's own style by its hash: one wrong byte, and there is none."""
    shown.open("tiny")
    assert shown.page.evaluate("getComputedStyle(document.querySelector('main')).maxWidth") == (
        "1120px"
    )


def test_folded_tables_are_printed(shown: Shown) -> None:
    shown.open("rich")
    shown.page.emulate_media(media="print")
    table = shown.page.locator("details table").first
    assert table.is_visible()
