"""What the pages point to is there."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import FENCE, INLINE, PAGES, ROOT, name_of, prose

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FOLDERS = {
    *("bench", "components", "controller-image", "demo", "docs", "k8s", "src", "stacks", "tests"),
    *("tools", "training-image"),
}
every_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    bare = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {heading.replace(" ", "-") for heading in bare}


def links(page: Path) -> Iterator[tuple[Path, str]]:
    for target in LINK.findall(prose(page)):
        if not target.startswith(("http://", "https://")):
            path, _, anchor = target.partition("#")
            yield (page.parent / path).resolve() if path else page, anchor


@every_page
def test_every_link_leads_somewhere(page: Path) -> None:
    assert [str(target) for target, _ in links(page) if not target.exists()] == []


@every_page
def test_every_anchor_is_a_heading(page: Path) -> None:
    dead = [
        f"{target.name}#{anchor}"
        for target, anchor in links(page)
        if anchor and target.suffix == ".md" and anchor not in anchors(target)
    ]
    assert dead == []


@every_page
def test_every_file_that_is_named_is_there(page: Path) -> None:
    named = {piece.split("#")[0].rstrip("/") for piece in INLINE.findall(page.read_text())}
    paths = [p for p in named if p.split("/")[0] in FOLDERS and "/" in p and " " not in p]
    missing = [path for path in paths if "<" not in path and not list(ROOT.glob(path))]
    assert missing == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen, ahead = set(), [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page in seen:
            continue
        seen.add(page)
        ahead += [target for target, _ in links(page) if target.suffix == ".md"]
        ahead += [
            file for target, _ in links(page) if target.is_dir() for file in target.glob("*.md")
        ]
    assert {name_of(page) for page in PAGES} - {name_of(page) for page in seen} == set()
