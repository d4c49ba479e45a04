"""Which agent may speak for which pod: the one that shows the token of that pod, of that job."""

import logging
from collections.abc import Callable
from typing import Final

from spotrain import contract
from spotrain.controller.bearer import Bearer, Reader, Reviewer
from spotrain.controller.kube import FAULTS, Kube, NotFound
from spotrain.controller.observe import SeenPod, view_pod
from spotrain.coordinator.protocol import Hello
from spotrain.kinds import PODS

logger = logging.getLogger(__name__)

LONGEST_TOKEN: Final = 16_384


class Doorkeeper:
    """The coordinator's `authorize`. It remembers which pod stands behind each agent."""

    def __init__(
        self,
        kube: Kube,
        find_pod: Callable[[str, str], SeenPod | None],
        bearers: Reviewer | Reader | None = None,
    ) -> None:
        self._kube = kube
        self._bearers = bearers or Reviewer(kube)
        self._find_pod = find_pod
        self._admitted: dict[tuple[str, str], str] = {}

    def admitted(self, job: str, pod: str) -> str:
        """Uid of the pod that joined the job under this name last; empty: none did."""
        return self._admitted.get((job, pod), "")

    def forget(self, job: str) -> None:
        for who in [who for who in self._admitted if who[0] == job]:
            del self._admitted[who]

    async def authorize(self, token: str, hello: Hello) -> str:
        """ "" or why not. Neither tokens nor what the API server says of them is repeated.

        Raises TimeoutError where the API server cannot be asked: the agent then comes again,
        while a refusal would end it.
        """
        try:
            bearer = await self._review(token)
            reason = await self._reason_to_refuse(bearer, hello)
        except FAULTS as fault:
            extra = {"job": hello.job, "pod": hello.pod}
            name = type(fault).__name__
            logger.warning("cannot review the token of %s: %s", hello.pod, name, extra=extra)
            raise TimeoutError("the API server cannot review tokens now") from None
        if bearer and not reason:
            self._admitted[hello.job, hello.pod] = bearer.pod_uid
        return reason

    async def _review(self, token: str) -> Bearer | None:
        if not token or len(token) > LONGEST_TOKEN:
            return None
        return await self._bearers.bearer(token)

    async def _reason_to_refuse(self, bearer: Bearer | None, hello: Hello) -> str:
        if bearer is None:
            return (
                f"the token shown is not one of a pod for the audience {contract.TOKEN_AUDIENCE}; "
                f"does {contract.ENV_TOKEN_FILE} name the projected token?"
            )
        namespace, _, uid = hello.job.split("/")
        if (bearer.namespace, bearer.pod) != (namespace, hello.pod):
            return f"the token shown is not that of pod {namespace}/{hello.pod}"
        pod = await self._pod(bearer)
        if pod is None or pod.owner != uid:
            return f"pod {namespace}/{hello.pod} is no worker of job {hello.job}"
        return ""

    async def _pod(self, bearer: Bearer) -> SeenPod | None:
        """The bearer's pod as last seen; one too new to be seen is asked for."""
        seen = self._find_pod(bearer.namespace, bearer.pod)
        if seen is None or seen.view.uid != bearer.pod_uid:
            try:
                seen = view_pod(await self._kube.get(PODS, bearer.namespace, bearer.pod))
            except NotFound:
                return None
        return seen if seen and seen.view.uid == bearer.pod_uid else None
