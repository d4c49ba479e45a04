"""What an agent hears, and which of the worker's moves answers it."""

import logging

from spotrain.agent.control import RankMessage
from spotrain.agent.notices import Notice
from spotrain.agent.worker import Worker
from spotrain.coordinator import protocol

logger = logging.getLogger(__name__)

Event = protocol.FromCoordinator | RankMessage | Notice


def hand_to(worker: Worker, event: Event) -> None:
    """
    Raises:
        Left: the worker has left after a notice.
    """
    match event:
        case RankMessage():
            if worker.ranks.is_current(event):
                _hand_rank_message(worker, event)
        case Notice():
            worker.notice()
        case _:
            _hand_coordinator_message(worker, event)


def _hand_coordinator_message(worker: Worker, message: protocol.FromCoordinator) -> None:
    match message:
        case protocol.Welcome(uses_session=uses_session):
            logger.info("connected as %s", worker.me.pod)
            worker.connected(uses_session)
        case protocol.NewWorld():
            worker.enter(message)
        case protocol.Drain(world=number, seconds=seconds):
            worker.drain(number, seconds)
        case protocol.Inspect(world=number):
            worker.inspect(number)
        case protocol.Restart(world=number):
            worker.leave_world(number)
        case protocol.Release():
            worker.release()
        case protocol.CommitAnswer():
            worker.reports.answer(message)
        case protocol.PeerReturned():
            worker.ranks.peer_returned(message)
        case protocol.Closed(outcome=outcome, message=text):
            worker.close(outcome, text)
        case protocol.Refused(reason=reason, final=final):
            logger.error("the coordinator refuses this worker: %s", reason)
            if final:
                worker.give_up()


def _hand_rank_message(worker: Worker, message: RankMessage) -> None:
    fields = message.fields
    match message.kind:
        case "arrive":
            worker.arrived(message.local_rank, survivor=fields["survivor"], floor=fields["floor"])
        case "drained":
            worker.drained(message.local_rank, fields["world"])
        case "broken":
            worker.broken(
                message.local_rank,
                fields["world"],
                message=fields["message"],
                excused=fields["excused"],
            )
        case "returned":
            worker.reports.returned(fields)
        case "deserted":
            worker.deserted(fields["world"], rank=fields["rank"], step=fields["step"])
        case "trained":
            worker.training_returned(message.local_rank)
        case "disconnected":
            worker.ranks.disconnected(message.local_rank)
        case "commit":
            worker.reports.commit(message.local_rank, world=fields["world"], step=fields["step"])
        case "saved":
            worker.reports.saved(world=fields["world"], step=fields["step"])
        case "progress":
            worker.progressed()
            worker.reports.progress(fields)
