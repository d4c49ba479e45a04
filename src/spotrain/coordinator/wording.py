"""A world as the machine knows it, and as it is sent."""

from spotrain import worlds
from spotrain.coordinator import protocol


def publication(world: worlds.World) -> protocol.NewWorld:
    seats = tuple(
        protocol.SeatInfo(id=seat.id, address=seat.address, ranks=seat.ranks)
        for seat in world.seats
    )
    restore = None
    if world.restore is not None:
        restore = protocol.CheckpointInfo(world=world.restore.world, step=world.restore.step)
    return protocol.NewWorld(
        number=world.number, seats=seats, store_port=world.store_port, restore=restore
    )


def joined(hello: protocol.Hello) -> worlds.Joined:
    return worlds.Joined(
        id=hello.pod,
        address=hello.address,
        ranks=hello.ranks,
        claim=claim_of(hello.world) if hello.world is not None else None,
        finished=hello.finished,
        left=hello.left,
    )


def claim_of(message: protocol.NewWorld) -> worlds.World:
    seats = tuple(
        worlds.Seat(id=seat.id, address=seat.address, ranks=seat.ranks) for seat in message.seats
    )
    restore = None
    if message.restore is not None:
        restore = worlds.Checkpoint(message.restore.world, message.restore.step)
    return worlds.World(
        number=message.number, seats=seats, store_port=message.store_port, restore=restore
    )
