"""The settings of a stack: one strict schema for the one key `spotrain:settings`.

The only reader of pulumi.Config. What may be set on every cloud is in platform_schema.py, what a
cloud adds in <cloud>/schema.py; what no single field can know, in <cloud>/rules.py.
"""

from difflib import get_close_matches

import pulumi
from pydantic import ValidationError

from stacks import clouds, platform_rules
from stacks.field_problems import from_pydantic
from stacks.platform_schema import PlatformSettings
from stacks.problems import UNSET, Problem, SettingsError, suggestion

KEY = "settings"
NAMESPACE = "spotrain"


def parse(document: object, *, source: str) -> PlatformSettings:
    """The settings in a document, of its cloud's class, or every problem with it at once."""
    if document is None:
        raise SettingsError(source, [missing_settings(source)])
    support = clouds.support(_cloud_of(document, source))
    try:
        settings = support.settings.model_validate(document)
    except ValidationError as error:
        raise SettingsError(source, from_pydantic(error, support)) from None
    if problems := [*platform_rules.problems(settings), *support.problems(settings)]:
        raise SettingsError(source, problems)
    return settings


def load() -> PlatformSettings:
    """The settings of the stack that Pulumi runs."""
    source = f"stacks/Pulumi.{pulumi.get_stack()}.yaml"
    return parse(pulumi.Config(NAMESPACE).get_object(KEY), source=source)


def _cloud_of(document: object, source: str) -> str:
    """Which schema judges the rest."""
    settings = document if isinstance(document, dict) else {}
    given = settings.get("cloud")
    if isinstance(given, str) and given in clouds.MODULES:
        return given
    meant = get_close_matches("cloud", settings, n=1) if given is None else []
    if meant:
        raise SettingsError(source, [_misspelled(meant[0], settings[meant[0]])])
    problem = Problem(
        path="cloud",
        value=UNSET if given is None else given,
        rule=f"one of: {', '.join(sorted(clouds.MODULES))}",
        reason="it decides what else may be set",
        next_step="add `cloud: aws`" if given is None else suggestion(str(given), clouds.MODULES),
    )
    raise SettingsError(source, [problem])


def _misspelled(key: str, value: object) -> Problem:
    return Problem(
        path=key,
        value=value,
        rule="no setting has this name",
        reason="a setting that nobody reads changes nothing, so a typo would go unnoticed",
        next_step=suggestion(key, ["cloud"]),
    )


def missing_settings(source: str) -> Problem:
    """The stack file says nothing."""
    return Problem(
        path=f"config.{NAMESPACE}:{KEY}",
        value=UNSET,
        rule="required; it holds every setting of the stack",
        reason="there is nothing to build without a region, zones and pools",
        next_step=f"copy the key from stacks/Pulumi.dev.yaml to {source} and edit it",
    )
