"""Files that a person hands to a verb: a job, and pools. Errors are one line."""

from pathlib import Path
from typing import Final

import yaml

from spotrain import contract
from spotrain.cli.errors import UserError
from spotrain.job import InvalidDocument, parse_pools
from spotrain.kinds import Object

NO_TEXT: Final = "it is no UTF-8 text"
WRITE_ONE: Final = "mend it, or let spotrain init write one."


def read_job_file(path: Path) -> Object:
    """One ElasticJob, as it is written. Raises UserError."""
    document = _read(path)
    if document.get("kind") != contract.KIND:
        raise UserError(
            f"{path}: holds {document.get('kind') or 'no kind'!r}, not an {contract.KIND}; see "
            "docs/elasticjob.md, or let spotrain init write one."
        )
    return document


def read_pools_file(path: Path) -> str:
    """The pools in a file of the pools ConfigMap. Raises UserError."""
    data = _read(path).get("data")
    text = data.get(contract.POOLS_KEY) if isinstance(data, dict) else None
    if not isinstance(text, str):
        raise UserError(f"{path}: has no data.{contract.POOLS_KEY}; give a pools ConfigMap.")
    try:
        parse_pools(text)
    except InvalidDocument as error:
        raise UserError(f"{path}: {' '.join(str(error).split())}") from None
    return text


def _read(path: Path) -> Object:
    try:
        document = yaml.safe_load(path.read_text())
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; give the path of a YAML file.") from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; give the path of a YAML file.") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: cannot be read as YAML: {NO_TEXT}; {WRITE_ONE}") from None
    except (yaml.YAMLError, RecursionError) as error:
        said = _fault(error)
        raise UserError(f"{path}: cannot be read as YAML: {said}; {WRITE_ONE}") from None
    if not isinstance(document, dict):
        raise UserError(f"{path}: holds no mapping; give one document.")
    return document


def _fault(error: Exception) -> str:
    """What is wrong, and in which line."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        return f"{error.problem} in line {error.problem_mark.line + 1}"
    return " ".join(str(error).split())
