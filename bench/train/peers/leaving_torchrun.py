"""torchrun, but an agent on SIGTERM leaves the rendezvous once its ranks have saved and ended.

torchrun itself just goes, so the others wait until its heartbeats have been missing for long
enough. There is no public way to leave: this is the best that its parts can do.
"""

import time
from typing import Any

from torch.distributed import run
from torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
from torch.distributed.elastic.multiprocessing import SignalException
from torch.distributed.elastic.rendezvous import dynamic_rendezvous
from torch.distributed.launcher import api

LEAVE_SECONDS = 10.0


class LeavingAgent(LocalElasticAgent):
    def run(self, *arguments: Any) -> Any:
        try:
            return super().run(*arguments)
        except SignalException:
            handler: Any = self._worker_group.spec.rdzv_handler
            leave = dynamic_rendezvous._RendezvousExitOp()
            handler._op_executor.run(leave, time.monotonic() + LEAVE_SECONDS)
            raise


if __name__ == "__main__":
    api.LocalElasticAgent = LeavingAgent  # type: ignore[attr-defined]
    run.main()
