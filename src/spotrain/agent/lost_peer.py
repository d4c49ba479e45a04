"""The errors that collectives raise on every rank that has lost a peer."""

PARTS = (
    "gloo",
    "Gloo",
    "Connection closed by peer",
    "Connection reset by peer",
    "ncclRemoteError",
    "remote process exited",
)
"""Only the text identifies them: gloo raises bare RuntimeErrors."""


def is_lost_peer_text(text: str) -> bool:
    """Whether an error's text is that of a collective whose peer has gone."""
    return any(part in text for part in PARTS)
