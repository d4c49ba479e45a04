"""`spotrain init`."""

from importlib.resources import files
from os.path import exists, isfile
from pathlib import Path
from shlex import quote
from typing import Annotated, Final

import typer
import yaml

from spotrain.cli.errors import CONFLICT, UserError
from spotrain.cli.sizing import Size
from spotrain.cli.submission import Submission, build_job, researcher_label
from spotrain.kinds import Object
from spotrain.local.shelf import NAMESPACE

WORKERS: Final = 2
FILES: Final = ("train.py", "job.yaml", "README.md")
IMAGE: Final = "spotrain-training"
"""Stands for the platform's training image; on this machine no image is looked at."""
HEAD: Final = """\
# What `spotrain run job.yaml --local` plays; docs/elasticjob.md has every field.
# In a cluster `spotrain submit` makes such a document from its options.
"""


def command(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Made if it is not there; names the job.")
    ],
) -> None:
    """Write a small project: a training script, a job file and a README."""
    if isfile(folder):
        raise UserError(f"{folder}: is a file; name a folder, which is made if it is not there.")
    name = researcher_label(folder.resolve().name).lower().replace("_", "-").replace(".", "-")
    if not name:
        raise UserError(
            f"{folder}: no job can be named after it; name a folder by letters and digits (a-z, "
            "0-9)."
        )
    written = write_project(folder, name)
    print(f"wrote {', '.join(str(path) for path in written)}")
    print(f"Next: cd {quote(str(folder))} && spotrain run job.yaml --local")


def write_project(folder: Path, name: str) -> list[Path]:
    """Raises UserError where a file is there already; nothing is written then."""
    job = example_job(name)
    there = [folder / file for file in FILES if exists(folder / file)]
    if there:
        raise UserError(
            f"{there[0]} is there already and stays as it is; name another folder.",
            exit_code=CONFLICT,
        )
    template = files("spotrain.cli") / "project"
    readme = (template / "README.md").read_text().format(name=name, workers=WORKERS)
    texts = {
        "train.py": (template / "train.py").read_text(),
        "job.yaml": HEAD + yaml.safe_dump(job, sort_keys=False),
        "README.md": readme,
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in FILES:
            (folder / file).write_text(texts[file])
    except OSError as error:
        raise UserError(
            f"{folder}: the project cannot be written there: {error.strerror}. Name a folder that "
            "you may make or write."
        ) from None
    return [folder / file for file in FILES]


def example_job(name: str) -> Object:
    """Raises UserError where no job can have the name."""
    job = build_job(
        Submission(
            name=name,
            namespace=NAMESPACE,
            researcher="",
            gpu="t4",
            size=Size(WORKERS, 1, 1),
            image=IMAGE,
            is_platform_image=True,
            arguments=["train.py"],
        )
    )
    del job["metadata"]["labels"], job["metadata"]["namespace"]
    job["spec"]["elastic"] = {"growthDelaySeconds": 1}
    return job
