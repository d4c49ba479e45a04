"""The loop of an agent: everything happens on one thread, which takes events from one inbox.

Other threads, and signal handlers, only put events into it.
"""

import queue

from torch.distributed.elastic.agent.server.api import RunResult

from spotrain.agent.events import Event, hand_to
from spotrain.agent.worker import Worker

POLL_SECONDS = 0.05

Inbox = queue.SimpleQueue[Event]
"""A simple queue, because a signal handler may put while this thread is about to get."""


def run(worker: Worker, inbox: Inbox) -> RunResult:
    """Until the job is closed or this worker leaves; then no rank is left.

    Raises:
        Left: after a notice.
    """
    try:
        while worker.result is None:
            try:
                event = inbox.get(timeout=POLL_SECONDS)
            except queue.Empty:
                pass
            else:
                hand_to(worker, event)
            worker.watch()
        return worker.result
    finally:
        worker.stop()
