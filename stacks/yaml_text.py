"""From the bytes of a YAML file to a document; what goes wrong is told with its line."""

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass

import yaml

from stacks import yaml_keys
from stacks.problems import Problem, SettingsError

WIDEST_LINE = 60
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, b"\0")
BOOLEAN = "tag:yaml.org,2002:bool"
GENERAL_STEP = "look at brackets, quotes and indentation, here and in the line before"


@dataclass(frozen=True, kw_only=True)
class Read:
    """A document without the keys that are no names, and what is wrong with its keys."""

    document: object
    problems: Sequence[Problem]


class _Loader(yaml.SafeLoader):
    """Reads values as Pulumi does: `yes` and `on` are texts, only `true` is true."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> object:
        try:
            return super().construct_object(node, deep)
        except ValueError as error:  # a date like 2026-13-45
            raise yaml.MarkedYAMLError(problem=str(error), problem_mark=node.start_mark) from None


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != BOOLEAN]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    BOOLEAN, re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)


def read(data: bytes, source: str) -> Read:
    """The document. Raises SettingsError: these bytes are no YAML, so nothing else can be known."""
    text = _decoded(data, source)
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        problems = tuple(yaml_keys.problems(root)) if root else ()  # construction merges its keys
        document = loader.construct_document(root) if root else None
    except yaml.MarkedYAMLError as error:
        raise SettingsError(source, [_not_yaml(error, text)]) from None
    except yaml.reader.ReaderError as error:
        raise SettingsError(source, [_not_printable(error, text)]) from None
    return Read(document=_named(document), problems=problems)


def _decoded(data: bytes, source: str) -> str:
    try:
        if not any(mark in data[:4] for mark in UTF16):
            return data.decode("utf-8-sig")
        value = "UTF-16"
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        value = f"line {line} has the byte 0x{data[error.start]:02x}"
    problem = Problem(
        path="encoding",
        value=value,
        rule="a text file in UTF-8",
        reason="Pulumi reads no other encoding, and this one turns letters into something else",
        next_step="save the file as UTF-8 in your editor",
    )
    raise SettingsError(source, [problem])


def _not_yaml(error: yaml.MarkedYAMLError, text: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    assert mark, "PyYAML marks each of its errors"
    said = ", ".join(part for part in (error.context, error.problem) if part)
    return Problem(
        path=f"line {mark.line + 1}, column {mark.column + 1}",
        value=_line(text, mark.line),
        rule="a file that is YAML",
        reason=" ".join(said.split()),
        next_step=_step(said),
    )


def _step(said: str) -> str:
    if r"'\t'" in said:
        return "indent with spaces; YAML knows no tabs"
    if "mapping values are not allowed" in said:
        return "indent the line like its neighbours, or put a value that has a colon in quotes"
    if "single document" in said:
        return "remove the line `---` and what follows it"
    return GENERAL_STEP


def _not_printable(error: yaml.reader.ReaderError, text: str) -> Problem:
    line = text.count("\n", 0, error.position)
    return Problem(
        path=f"line {line + 1}",
        value=_line(text, line),
        rule="letters, digits and signs that can be printed",
        reason=f"YAML forbids the character {text[error.position]!r}",
        next_step="remove it; an editor that shows control characters finds it",
    )


def _line(text: str, number: int) -> str:
    lines = text.splitlines()
    found = lines[number].strip() if number < len(lines) else ""
    shown = found if found.isprintable() else ascii(found)[1:-1]
    return shown[:WIDEST_LINE] or "(the end of the file)"


def _named(value: object) -> object:
    """Without the keys that are no names: they are problems already."""
    if isinstance(value, dict):
        return {key: _named(item) for key, item in value.items() if isinstance(key, str)}
    return [_named(item) for item in value] if isinstance(value, list) else value
