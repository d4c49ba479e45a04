"""World numbers that outlive everything: in the job's status before a world is published."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from spotrain.controller.kube import FAULTS, LOST, Conflict, Kube, NotFound
from spotrain.controller.mirror import backoff
from spotrain.controller.observe import SeenJob, view_job
from spotrain.controller.stored import number_patch, recorded_number
from spotrain.kinds import JOBS, Object

logger = logging.getLogger(__name__)


class Recorder:
    """The coordinator's `record`. `find` gives a job as last seen, `took` gets what was written,
    and `raised` the key of a job whose stored number was higher than ours, and that number."""

    def __init__(
        self,
        kube: Kube,
        *,
        find: Callable[[str], SeenJob | None],
        took: Callable[[Object], None],
        raised: Callable[[str, int], None],
    ) -> None:
        self._kube = kube
        self._find = find
        self._took = took
        self._raised = raised

    async def record(self, key: str, number: int) -> None:
        """Returns once the number is stored. A job that is gone ends this by cancelling it.

        A number that somebody else has stored may be another coordinator's world: then ours is
        never published, and the coordinator forms one beyond it.
        """
        seen, pauses, may_be_ours = self._find(key), backoff(), False
        extra = {"job": key}
        while True:
            try:
                seen = seen or await self._ask(key)
                stored = recorded_number(seen.stored)
                if stored == number and may_be_ours:
                    return
                if stored >= number:
                    logger.warning(
                        "%s: world %d is taken; the last is %d", key, number, stored, extra=extra
                    )
                    return self._raised(key, stored)
                self._took(await self._write(seen, number))
                return
            except Conflict:
                pass
            except FAULTS as fault:
                may_be_ours = may_be_ours or isinstance(fault, LOST)
                logger.warning("%s: cannot record world %d: %r", key, number, fault, extra=extra)
                await asyncio.sleep(next(pauses))
            seen = None

    async def _ask(self, key: str) -> SeenJob:
        namespace, name, uid = key.split("/")
        seen = view_job(await self._kube.get(JOBS, namespace, name))
        if seen is None or seen.uid != uid:
            raise NotFound(404, f"job {key} is being deleted")
        return seen

    async def _write(self, seen: SeenJob, number: int) -> Object:
        body: dict[str, Any] = {
            "metadata": {"resourceVersion": seen.version, "uid": seen.uid},
            "status": number_patch(number),
        }
        return await self._kube.patch(JOBS, seen.namespace, seen.name, body, subresource="status")
