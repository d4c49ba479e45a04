"""What a person is told to type next, wherever that is said."""


def next_command(verb: str, *words: str, local: bool) -> str:
    """spotrain status exp1 --watch --local; `local`: for a job of this machine."""
    return " ".join(("spotrain", verb, *words, *(("--local",) if local else ())))
