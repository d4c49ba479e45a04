"""Ctrl-C in the middle of sending: nothing half done, and it is said what is left."""

import os
from pathlib import Path

import pytest

from spotrain.cli.errors import UserError
from spotrain.cli.interrupts import told
from spotrain.cli.pipes import Unwritten
from tests.cli.stalling_server import ARCHIVE, PLATFORM, SENDING, WHO, stalling_server
from tests.cli.terminal import CTRL_C, terminal

SUBMIT = ("submit", "exp1", "--gpus", "1", "--gpu-type", "t4", "--", "train.py")


@pytest.mark.parametrize(
    ("moment", "options"),
    [
        pytest.param(PLATFORM, (), id="asking-for-pools"),
        pytest.param(WHO, (), id="asking-who-it-is"),
        pytest.param(ARCHIVE, ("--code", "."), id="sending-code"),
    ],
)
def test_before_the_job_is_sent_ctrl_c_leaves_none(
    moment: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "train.py").touch()
    words = (*SUBMIT[:2], *options, *SUBMIT[2:])
    with (
        stalling_server(moment, tmp_path) as (server, environment),
        terminal(*words, folder=tmp_path, environment={**os.environ, **environment}) as shown,
    ):
        assert server.arrived.wait(60)
        shown.press(CTRL_C)
        assert shown.read_to_end() == 130
        assert server.jobs == []
    assert "interrupted: no job was made. Code that was sent already lies" in shown.text
    assert "Traceback" not in shown.text


def test_while_the_job_is_sent_ctrl_c_waits_for_the_answer_and_says_that_it_goes_on(
    tmp_path: Path,
) -> None:
    with (
        stalling_server(SENDING, tmp_path) as (server, environment),
        terminal(*SUBMIT, folder=tmp_path, environment={**os.environ, **environment}) as shown,
    ):
        assert server.arrived.wait(60)
        shown.press(CTRL_C)
        shown.read_until("exp1 is being sent")
        server.release.set()
        assert shown.read_to_end() == 130
        assert [job["metadata"]["name"] for job in server.jobs] == ["exp1"]
    assert "exp1 was sent and goes on" in shown.text
    assert "spotrain delete exp1 removes it" in " ".join(shown.text.split())


def test_a_second_ctrl_c_waits_for_no_answer_and_says_what_is_not_known(tmp_path: Path) -> None:
    with (
        stalling_server(SENDING, tmp_path) as (server, environment),
        terminal(*SUBMIT, folder=tmp_path, environment={**os.environ, **environment}) as shown,
    ):
        assert server.arrived.wait(60)
        shown.press(CTRL_C)
        shown.read_until("exp1 is being sent")
        shown.press(CTRL_C)
        assert shown.read_to_end() == 130
    assert "spotrain list tells" in " ".join(shown.text.split())
    assert "Traceback" not in shown.text


def test_an_answer_that_cannot_be_written_says_what_it_leaves() -> None:
    full = Unwritten("cannot write the output: No space left on device.")
    said = r"No space left on device\. exp1 goes on\."
    with pytest.raises(UserError, match=said), told("exp1 goes on."):
        raise full
