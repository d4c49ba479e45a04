"""The pages that people read, and what can be read off them."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`\n]+)`")
PLACEHOLDER = re.compile(r"<([a-z][a-z -]*)>")
SUBSTITUTION = re.compile(r"\$\(([^()]*)\)")
PROGRAMS = {"aws", "kubectl", "pulumi", "make", "helm", "docker", "kind", "minikube", "spotrain"}
KEYWORDS = {"then", "do", "done"}
PUNCTUATION = "|&;()<>"


@dataclass(frozen=True)
class Command:
    """One program with its arguments, as a page has it."""

    page: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page}: {' '.join(self.words)}"


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def prose(page: Path) -> str:
    """Without the blocks of code."""
    return FENCE.sub("", page.read_text())


def commands(*programs: str) -> list[Command]:
    """Every use of these programs, in blocks and in running text, in the order of the pages."""
    return [
        Command(name_of(page), words)
        for page in PAGES
        for line in _lines(page)
        for words in _commands_in(line)
        if words[0] in programs
    ]


def _lines(page: Path) -> Iterator[str]:
    """What a person would type: lines after a `$`, and whatever in a text begins with a program."""
    text = page.read_text()
    for language, block in FENCE.findall(text):
        joined = re.sub(r"\\\n\s*", " ", block)
        for line in joined.splitlines():
            if language == "console" and line.strip().startswith("$ "):
                yield line.strip()[2:]
            elif not language and line.split(" ")[0] in PROGRAMS:
                yield line
    for piece in INLINE.findall(prose(page)):
        if piece.split(" ")[0] in PROGRAMS and " " in piece:
            yield piece.replace(r"\|", "|")


def _commands_in(line: str) -> Iterator[tuple[str, ...]]:
    """The parts of a pipeline, a list, or a substitution; a placeholder is its bare name."""
    line = PLACEHOLDER.sub(r"\1", line)
    while inner := SUBSTITUTION.search(line):
        yield from _commands_in(inner[1])
        line = line.replace(inner[0], "substituted")
    lexer = shlex.shlex(line, posix=True, punctuation_chars=PUNCTUATION)
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    for token in [*_until_comment(lexer), ";"]:
        if token in KEYWORDS or set(token) <= set(PUNCTUATION):
            if words:
                yield tuple(words)
            words = []
        elif words or not _is_setting(token):
            words.append(token)


def _until_comment(tokens: Iterator[str]) -> Iterator[str]:
    for token in tokens:
        if token.startswith("#"):
            return
        yield token


def _is_setting(token: str) -> bool:
    """`$` of a substitution, NAME=value before a command, and `export`."""
    return token in ("$", "export") or re.match(r"^[A-Z_]+=", token) is not None
