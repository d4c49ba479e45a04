"""python -m stacks.pages [PAGE...] writes the pages that are made from the code, all or some."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from stacks.pages import (
    clouds,
    command_line,
    configuration,
    cost,
    elasticjob,
    identities,
    identities_gcp,
    quotas,
    readme,
)

DOCS = Path(__file__).parents[2] / "docs"
PAGES: Mapping[str, Callable[[], str]] = {
    "cli.md": command_line.page,
    "clouds.md": clouds.page,
    "configuration.md": configuration.page,
    "stack-cost.md": cost.page,
    "elasticjob.md": elasticjob.page,
    "identities.md": identities.page,
    "identities-gcp.md": identities_gcp.page,
    "operations.md": quotas.operations_page,
    "gcp.md": quotas.gcp_page,
    "../README.md": readme.page,
}


def main() -> int:
    """Write them all, or those that are named."""
    for name in sys.argv[1:] or PAGES:
        (DOCS / name).write_text(PAGES[name]())
        print(f"wrote docs/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
