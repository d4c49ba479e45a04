"""What a job was given in confidence is told by no verb that people read or send around."""

import json
from pathlib import Path

import pytest

from spotrain.cli.local_jobs import ENV_FOLDER, own_shelf
from spotrain.cli.local_run import make_settings
from spotrain.cli.main import main
from tests.cli.documents import job

SECRET = "hunter2"


@pytest.mark.parametrize(
    "words",
    [
        "list",
        "list -o json",
        "status digits",
        "status digits -o json",
        "describe digits",
        "explain digits",
        "explain digits -o json",
        "cost digits -o json",
        "gpus -o json",
        "report digits -o -",
        "stop digits",
        "delete digits",
    ],
)
def test_no_verb_tells_the_value_of_a_variable(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(ENV_FOLDER, str(tmp_path / "shelf"))
    document = job("digits")
    (container,) = document["spec"]["replicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    container["env"] = [{"name": "TRACKER_KEY", "value": SECRET}]
    shelf = own_shelf()
    shelf.add(document, make_settings(shelf))
    assert SECRET in json.dumps(shelf.find("digits").document())
    with pytest.raises(SystemExit) as ended:
        main([*words.split(), "--local"])
    said = capsys.readouterr()
    assert ended.value.code == 0, said.err
    assert "digits" in said.out + said.err or words.startswith("gpus")
    assert SECRET not in said.out + said.err
