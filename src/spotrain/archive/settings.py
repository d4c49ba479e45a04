"""The archive's settings: environment variables, each with a default that suits its Deployment."""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from spotrain import contract
from spotrain.archive.retention import DEFAULT, Retention
from spotrain.controller.variables import SettingsError, read_log_level, read_port, read_whole

ENV_FOLDER: Final = "SPOTRAIN_ARCHIVE_FOLDER"
ENV_OUTPUT: Final = "SPOTRAIN_OUTPUT_FOLDER"
ENV_ADDRESS: Final = "SPOTRAIN_ARCHIVE_ADDRESS"
ENV_PORT: Final = "SPOTRAIN_ARCHIVE_PORT"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Usage: `Settings.read(os.environ)`."""

    namespace: str
    """SPOTRAIN_JOB_NAMESPACE: whose jobs are written down."""
    folder: Path = Path(contract.ARCHIVE_MOUNT)
    """SPOTRAIN_ARCHIVE_FOLDER: ledger and logs; nobody else may write there."""
    output: Path = Path(contract.VOLUME_MOUNT) / contract.OUTPUT_DIR
    """SPOTRAIN_OUTPUT_FOLDER: output/ of the shared volume."""
    address: str = "127.0.0.1"
    """SPOTRAIN_ARCHIVE_ADDRESS: of this pod's loopback."""
    port: int = contract.ARCHIVE_PORT
    """SPOTRAIN_ARCHIVE_PORT."""
    retention: Retention = DEFAULT
    """SPOTRAIN_ARCHIVE_LOG_DAYS, SPOTRAIN_ARCHIVE_LOGS_GIB, SPOTRAIN_ARCHIVE_LEDGER_DAYS (empty:
    for ever)."""
    log_level: str = "INFO"
    """SPOTRAIN_LOG_LEVEL: DEBUG, INFO, WARNING or ERROR."""

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "Settings":
        """Raises SettingsError."""
        namespace = environment.get(contract.ENV_JOB_NAMESPACE, "").strip()
        if not namespace:
            raise SettingsError(
                f"{contract.ENV_JOB_NAMESPACE} is empty: one archive keeps one namespace's jobs; "
                "name it."
            )
        return cls(
            namespace=namespace,
            folder=Path(environment.get(ENV_FOLDER, cls.folder)),
            output=Path(environment.get(ENV_OUTPUT, cls.output)),
            address=_loopback(environment.get(ENV_ADDRESS, cls.address)),
            port=own_port(environment),
            retention=_retention(environment),
            log_level=read_log_level(environment, cls.log_level),
        )


def _retention(environment: Mapping[str, str]) -> Retention:
    days, gib = DEFAULT.log_days, DEFAULT.logs_gib
    return Retention(
        log_days=read_whole(
            environment, contract.ENV_ARCHIVE_LOG_DAYS, "days", days, empty=f"{days} days"
        ),
        logs_gib=read_whole(
            environment, contract.ENV_ARCHIVE_LOGS_GIB, "GiB", gib, empty=f"{gib} GiB"
        ),
        ledger_days=read_whole(
            environment, contract.ENV_ARCHIVE_LEDGER_DAYS, "days", None, empty="ever"
        ),
    )


def _loopback(text: str) -> str:
    try:
        address = ip_address(text)
    except ValueError:
        raise SettingsError(f"{ENV_ADDRESS}={text!r} is no IP address; leave it out.") from None
    if not address.is_loopback:
        raise SettingsError(
            f"{ENV_ADDRESS}={text}: the archive asks nobody who he is, so it listens on its own "
            "loopback only, which who may forward ports to the pod can reach; leave it out."
        )
    return str(address)


def own_port(environment: Mapping[str, str]) -> int:
    """Raises SettingsError."""
    return read_port(environment, ENV_PORT, Settings.port)
