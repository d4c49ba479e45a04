"""What a sweep tries: Hydra's grammar, lists, and what is refused."""

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotrain.cli.errors import UserError
from spotrain.cli.overrides import Axis, combine, distinct, read_axes, read_list

MOST = 100
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\\'\"", exclude_categories=["Cc"]))
KEYS = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)


def values(word: str) -> tuple[str, ...]:
    (axis,) = read_axes([word], most=MOST)
    return axis.values


@pytest.mark.parametrize(
    ("word", "tried"),
    [
        pytest.param("lr=0.1,0.01", ("0.1", "0.01"), id="choices"),
        pytest.param("lr=0.1", ("0.1",), id="one"),
        pytest.param("lr=1e-3,0.0010", ("0.001",), id="one-number-spelled-twice"),
        pytest.param("lr=1e-05", ("1e-05",), id="small"),
        pytest.param("n=range(1,4)", ("1", "2", "3"), id="range"),
        pytest.param("n=range(0,1,0.5)", ("0.0", "0.5"), id="range-with-step"),
        pytest.param("n=choice(1,2)", ("1", "2"), id="choice"),
        pytest.param("tag='a,b',c", ("a,b", "c"), id="quoted-comma"),
        pytest.param('tag="it\'s"', ("it's",), id="quoted-quote"),
        pytest.param("tag=''", ("",), id="empty-on-purpose"),
        pytest.param("flag=true,false", ("true", "false"), id="truth"),
        pytest.param("sizes=[1,2],[3]", ("[1,2]", "[3]"), id="lists"),
        pytest.param("data=/mnt/efs/data", ("/mnt/efs/data",), id="path"),
        pytest.param("model.depth=1", ("1",), id="dotted"),
        pytest.param("weight-decay=-1,0", ("-1", "0"), id="dashed"),
    ],
)
def test_values_are_read_as_hydra_reads_them(word: str, tried: tuple[str, ...]) -> None:
    assert values(word) == tried


@pytest.mark.parametrize(
    ("word", "says"),
    [
        pytest.param("lr", "missing EQUAL", id="no-value"),
        pytest.param("lr=", "gives lr no value", id="empty"),
        pytest.param("lr=choice()", "empty choice", id="empty-choice"),
        pytest.param("lr=range(3,1)", "gives lr no value", id="empty-range"),
        pytest.param("lr=(", "cannot be read", id="open-bracket"),
        pytest.param("+lr=1", "only KEY=VALUES", id="added"),
        pytest.param("~lr", "only KEY=VALUES", id="removed"),
        pytest.param("lr@x=1", "only KEY=VALUES", id="package"),
        pytest.param("lr=interval(0,1)", "only choices and ranges", id="interval"),
        pytest.param("lr=glob(*)", "only choices and ranges", id="glob"),
        pytest.param("lr=range(1,1000000000)", "slip of the keyboard", id="too-many"),
    ],
)
def test_what_names_no_values_is_refused_in_one_line(word: str, says: str) -> None:
    with pytest.raises(UserError) as refused:
        values(word)
    assert says in refused.value.message
    assert "\n" not in refused.value.message


@given(key=KEYS, texts=st.lists(TEXTS, min_size=1, max_size=5, unique=True))
@settings(max_examples=50, deadline=None)
def test_any_text_in_quotes_comes_out_as_it_went_in(key: str, texts: list[str]) -> None:
    quoted = ",".join(f"'{text}'" for text in texts)
    assert read_axes([f"{key}={quoted}"], most=MOST) == [Axis(key, tuple(texts))]


AXES = st.lists(
    st.builds(
        Axis,
        KEYS,
        st.lists(st.sampled_from("abcd"), min_size=1, max_size=4, unique=True).map(tuple),
    ),
    max_size=3,
    unique_by=lambda axis: axis.key,
)


@given(axes=AXES, most=st.integers(1, 70))
def test_a_grid_holds_every_combination_once_and_is_refused_before_it_is_made(
    axes: list[Axis], most: int
) -> None:
    size = math.prod(len(axis.values) for axis in axes)
    if size > most:
        with pytest.raises(UserError, match=f"--max-jobs {size}"):
            combine(axes, most=most)
        return
    found = combine(axes, most=most)
    assert len(found) == len({tuple(each.items()) for each in found}) == size
    for each in found:
        assert list(each) == [axis.key for axis in axes]
        assert all(each[axis.key] in axis.values for axis in axes)
    assert distinct(found + found) == found


def test_a_slip_of_many_digits_is_refused_at_once() -> None:
    axes = [Axis(key, tuple(map(str, range(100)))) for key in "abcdefgh"]
    with pytest.raises(UserError, match="10,000,000,000,000,000 jobs"):
        combine(axes, most=MOST)


def test_a_key_that_is_given_twice_is_refused() -> None:
    with pytest.raises(UserError, match="after one lr="):
        read_axes(["lr=1", "lr=2"], most=MOST)


def test_a_list_has_a_line_a_job_and_remarks(tmp_path: Path) -> None:
    path = tmp_path / "tries"
    path.write_text("# the paper's\nlr=0.1 tag='a b'\n\nlr=0.2 batch=32  # ours\n")
    assert read_list(path) == [["lr=0.1", "tag=a b"], ["lr=0.2", "batch=32"]]


@pytest.mark.parametrize("text", [None, "", "# nothing\n", "lr='0.1\n"])
def test_a_list_that_cannot_be_used_is_refused(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "tries"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError, match="--list"):
        read_list(path)
