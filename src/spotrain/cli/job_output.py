"""Where a job's results lie."""

from spotrain import contract
from spotrain.cli.submission import container_of, output_folder
from spotrain.kinds import Object


def output_of(document: Object | None, name: str) -> str:
    """The output, a folder or a place in a bucket, that the job was told, or else the folder it is
    given by its name."""
    if document is not None:
        for variable in container_of(document).get("env") or []:
            if variable["name"] == contract.ENV_OUTPUT and variable.get("value"):
                return str(variable["value"])
    return output_folder(name)


def checkpoints_below(output: str) -> str:
    """Where the training library puts them."""
    above = output if output.endswith("://") else output.rstrip("/")
    return f"{above}/checkpoints"
