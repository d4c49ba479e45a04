"""The README's transcript: a researcher's way from nothing to what it cost, as it was recorded."""

from stacks.pages.readme import shortened_session
from tests.docs.pages import ROOT


def test_the_readme_goes_from_init_to_cost_in_commands_of_the_recorded_session() -> None:
    shown = shortened_session()
    assert shown in (ROOT / "README.md").read_text()
    commands = [line for line in shown.splitlines() if line.startswith("$ ")]
    verbs = [command.split()[2] for command in commands]
    assert verbs == ["init", "submit", "list", "status", "logs", "explain", "cost"]
    recorded = (ROOT / "docs" / "session.md").read_text().splitlines()
    assert [line for line in recorded if line in commands] == commands
