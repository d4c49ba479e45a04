"""python -m stacks.pages writes every page of docs/ that is made from the code."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from stacks.pages import configuration, cost, elasticjob, identities, readme

DOCS = Path(__file__).parents[2] / "docs"
PAGES: Mapping[str, Callable[[], str]] = {
    "configuration.md": configuration.page,
    "stack-cost.md": cost.page,
    "elasticjob.md": elasticjob.page,
    "identities.md": identities.page,
    "../README.md": readme.page,
}


def main() -> int:
    """Write them all."""
    for name, page in PAGES.items():
        (DOCS / name).write_text(page())
        print(f"wrote docs/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
