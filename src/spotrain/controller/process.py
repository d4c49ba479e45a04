"""A process of the platform in the cluster, from its settings to its exit code."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, Protocol, TypeVar

from lightkube.core.exceptions import ConfigError

from spotrain.controller import logs
from spotrain.controller.variables import SettingsError

logger = logging.getLogger(__name__)

ENDED: Final = 0
FAILED: Final = 1
CANNOT_BEGIN: Final = 2


class HasLogLevel(Protocol):
    @property
    def log_level(self) -> str: ...


S = TypeVar("S", bound=HasLogLevel)


def run_process(
    read: Callable[[Mapping[str, str]], S],
    work: Callable[[S], Coroutine[Any, Any, None]],
    *,
    farewell: str,
) -> int:
    """Work until SIGTERM or SIGINT; returns the exit code. `farewell`: what comes after a fault."""
    try:
        settings = read(os.environ)
    except SettingsError as error:
        print(error, file=sys.stderr)
        return CANNOT_BEGIN
    logs.begin(settings.log_level)
    try:
        asyncio.run(_until_signal(work(settings)))
    except ConfigError as error:
        logger.critical("no cluster to work for: %s; run in a pod or set KUBECONFIG.", error)
        return CANNOT_BEGIN
    except Exception:
        logger.exception("this process ends; %s", farewell)
        return FAILED
    return ENDED


async def _until_signal(work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.ensure_future(work)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task
