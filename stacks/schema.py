"""The settings of a stack: one strict schema for the one key `spotrain:settings`.

The only reader of pulumi.Config. What may be set on every cloud is in platform_schema.py, what a
cloud adds in <cloud>/schema.py; what no single field can know, in <cloud>/rules.py.
"""

from collections.abc import Iterable, Sequence

import pulumi
from pydantic import ValidationError

from stacks import clouds, likely_cloud, platform_rules, stack_file
from stacks.field_problems import from_pydantic
from stacks.partial_settings import partial
from stacks.platform_schema import PlatformSettings
from stacks.problems import KEY, NAMESPACE, SETTINGS, Problem, SettingsError, every
from stacks.wording import written


def parse(document: object, *, source: str, beside: Sequence[Problem] = ()) -> PlatformSettings:
    """The settings in a document, of its cloud's class, or every problem with it at once.

    `beside`: what is wrong with the file around them, to be told with the rest.
    """
    if document is None and not beside:
        beside = [stack_file.missing_settings(source)]
    settings, found = _judged(document) if document is not None else (None, [])
    if problems := [*beside, *_not_about(beside, found)]:
        raise SettingsError(source, problems)
    assert settings, "where no problem was found there are settings"
    return settings


def load() -> PlatformSettings:
    """The settings of the stack that Pulumi runs; its file is read for what Pulumi ignores."""
    stack = pulumi.get_stack()
    beside = stack_file.read(stack).problems if stack in stack_file.stack_names() else ()
    settings = pulumi.Config(NAMESPACE).get_object(KEY)
    return parse(settings, source=stack_file.source_of(stack), beside=beside)


def _judged(document: object) -> tuple[PlatformSettings | None, list[Problem]]:
    """The settings as far as they are known, and what is wrong with them."""
    if not isinstance(document, dict):
        return None, [_no_section(document)]
    choice = likely_cloud.choose(document)
    problems = [choice.problem] if choice.problem else []
    if choice.cloud is None:
        return None, problems
    support = clouds.support(choice.cloud)
    try:
        settings = support.settings.model_validate(choice.settings)
    except ValidationError as error:
        wrong = from_pydantic(error, support)
        settings = partial(support.settings, choice.settings)
        problems += wrong
    rules = [platform_rules.problems, support.problems]
    problems += _not_about(problems, every(rules, settings))
    return settings, problems


def _not_about(told: Sequence[Problem], more: Iterable[Problem]) -> list[Problem]:
    """Without what is said of a place, or of a part of it, of which something is said already."""
    return [p for p in more if not any(_is_within(p.path, other.path) for other in told)]


def _is_within(path: str, other: str) -> bool:
    return path == other or path.startswith((f"{other}.", f"{other}["))


def _no_section(document: object) -> Problem:
    return Problem(
        path=SETTINGS,
        value=written(document),
        rule="a section with settings of its own",
        reason="it holds every setting of the stack",
        next_step="write settings below it, indented; stacks/Pulumi.dev.yaml has an example",
    )
