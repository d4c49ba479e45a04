"""Parts of a page that are made from the code, in a page that is else written by hand.

They stand between comments that name them.
"""

from collections.abc import Callable, Mapping

Parts = Mapping[str, Callable[[], str]]


def with_parts(name: str, text: str, parts: Parts) -> str:
    """The page `name`, with those parts as they are now. Raises ValueError: it has lost one."""
    for part, made in parts.items():
        begin, end = f"<!-- {part}: made by make config-reference -->\n", f"<!-- end of {part} -->"
        if begin not in text or end not in text:
            raise ValueError(f"{name} lacks {begin.strip()} or {end}. Next: put both back")
        before, after = text.split(begin)[0], text.split(end)[1]
        text = f"{before}{begin}{made()}{end}{after}"
    return text
