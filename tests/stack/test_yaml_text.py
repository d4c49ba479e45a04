"""Bytes become a document, or one readable problem with its place."""

import pytest

from stacks import yaml_text
from stacks.problems import Problem, SettingsError


def problems_of(text: str) -> list[tuple[str, object]]:
    return [(p.path, p.value) for p in yaml_text.read(text.encode(), "x").problems]


def refused(data: bytes) -> Problem:
    with pytest.raises(SettingsError) as error:
        yaml_text.read(data, "x")
    (problem,) = error.value.problems
    assert all("\n" not in str(part) for part in (problem.value, problem.reason, problem.next_step))
    return problem


def test_every_repetition_is_told_with_its_lines() -> None:
    text = """\
config:
  spotrain:settings:
    region: us-east-1
    region: us-west-2
    pools:
      - {name: a, name: b}
  spotrain:settings: {}
"""
    assert problems_of(text) == [
        ("region", "line 4, and before it line 3"),
        ("pools[0].name", "line 6, and before it line 6"),
        ("config.spotrain:settings", "line 7, and before it line 2"),
    ]


def test_an_alias_is_read_once_and_is_no_repetition() -> None:
    text = "a: &shared {x: 1}\nb: *shared\nc:\n  <<: *shared\n  y: 2\n"
    found = yaml_text.read(text.encode(), "x")
    assert found.document == {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2}}
    assert not found.problems


def test_an_empty_file_is_an_empty_document() -> None:
    assert yaml_text.read(b"# nothing yet\n", "x").document is None


@pytest.mark.parametrize(
    ("written", "path", "kind"),
    [
        ("5", "a.5", "a number"),
        ("1.5", "a.1.5", "a number"),
        ("true", "a.true", "true or false"),
        ("null", "a.null", "nothing"),
        ("~", "a.~", "nothing"),
    ],
)
def test_a_key_that_is_no_name_is_told_and_left_out(written: str, path: str, kind: str) -> None:
    found = yaml_text.read(f"a:\n  b: 2\n  {written}: 1\n".encode(), "x")
    assert found.document == {"a": {"b": 2}}
    (problem,) = found.problems
    assert (problem.path, problem.value) == (path, "line 3")
    assert f"as {kind}," in problem.reason


@pytest.mark.parametrize("word", ["yes", "no", "on", "off", "y"])
def test_a_word_that_only_old_yaml_takes_for_true_is_a_text_as_pulumi_reads_it(word: str) -> None:
    found = yaml_text.read(f"{word}: {word}\n".encode(), "x")
    assert (found.document, found.problems) == ({word: word}, ())


def test_true_and_numbers_are_what_they_are() -> None:
    assert yaml_text.read(b"[true, FALSE, 5, 1.5, ~]", "x").document == [True, False, 5, 1.5, None]


@pytest.mark.parametrize(
    ("text", "path", "value", "step"),
    [
        ("config: [", "line 1, column 10", "config: [", "brackets"),
        ("a: b: c\n", "line 1, column 5", "a: b: c", "in quotes"),
        ("a:\n\tb: 1\n", "line 2, column 1", "b: 1", "spaces"),
        ("a: 1\n  b: 2\n", "line 2, column 4", "b: 2", "like its neighbours"),
        ("a: *gone\n", "line 1, column 4", "a: *gone", "brackets"),
        ("a: 1\n---\nb: 2\n", "line 2, column 1", "---", "remove the line"),
        ("a:\n  b: 2026-13-45\n", "line 2, column 6", "b: 2026-13-45", "brackets"),
        ("a: !!python/name:os.system\n", "line 1, column 4", "a: !!python", "brackets"),
        ("? [x, y]\n: 1\n", "line 1, column 3", "? [x, y]", "brackets"),
        (": 1\n", "line 1, column 1", ": 1", "brackets"),
        ("a: 1\nb: \x07\n", "line 2", r"b: \x07", "control characters"),
    ],
)
def test_what_is_no_yaml_is_told_in_one_line_with_its_place(
    text: str, path: str, value: str, step: str
) -> None:
    problem = refused(text.encode())
    assert problem.path == path
    assert str(problem.value).startswith(value)
    assert step in problem.next_step


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("a: 1".encode("utf-16"), "UTF-16"),
        ("a: 1".encode("utf-16-le"), "UTF-16"),
        ("a: 1\nb: caf\u00e9".encode("latin-1"), "line 2 has the byte 0xe9"),
    ],
)
def test_a_file_in_another_encoding_is_told_as_one(data: bytes, value: str) -> None:
    problem = refused(data)
    assert (problem.path, problem.value) == ("encoding", value)
    assert "UTF-8" in problem.next_step


def test_the_mark_that_windows_puts_first_is_no_part_of_the_file() -> None:
    assert yaml_text.read("a: 1".encode("utf-8-sig"), "x").document == {"a": 1}
