"""Kubernetes' $(NAME) in commands, arguments and values of variables."""

import re
from collections.abc import Mapping


def expand(text: str, variables: Mapping[str, str]) -> str:
    """$(NAME) is its value; a name that is not set stays as it is written; $$ is a plain $."""

    def replace(found: re.Match[str]) -> str:
        return "$" if found[0] == "$$" else variables.get(found[1], found[0])

    return re.sub(r"\$\$|\$\(([^()]*)\)", replace, text)
