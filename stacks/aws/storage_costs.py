"""What data costs, by where it lies: for the preview, and worked out for a training run; pure.

The training run is in us-east-1.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from components.cloud import StoragePrices
from stacks.aws.services import service_catalog, service_prices
from stacks.bill import PoolPrice

if TYPE_CHECKING:
    from stacks.aws.schema import AwsSettings

BURSTING_READ_KIB = 150
"""What EFS lets be read, in KiB/s for each GiB that it holds, once the credits are spent."""
REQUEST_GB = 0.008
"""Most that Mountpoint reads or writes with one request."""


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """What a run reads and writes."""

    dataset_gb: float
    files: int
    """In the data set; each is opened once an epoch."""
    epochs: int
    checkpoint_gb: float
    checkpoint_minutes: float
    hours: float
    nodes: int

    @property
    def checkpoints(self) -> int:
        return int(self.hours * 60 / self.checkpoint_minutes)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the data of a run may lie, and what it costs there."""

    where: str
    usd_per_month: float
    """The data set at rest."""
    usd_read: float
    usd_written: float

    @property
    def usd_per_run(self) -> float:
        """On top of the bytes at rest."""
        return self.usd_read + self.usd_written


IMAGENET = TrainingRun(
    dataset_gb=150,
    files=1_281_167,
    epochs=90,
    checkpoint_gb=0.3,
    checkpoint_minutes=10,
    hours=20,
    nodes=4,
)
"""A ResNet-50 on four T4s, as its files come."""


def places(run: TrainingRun) -> tuple[Place, ...]:
    """Every place there is, with the same run."""
    return (bursting(run), elastic(run), bucket(run), bucket(run, is_cached=True))


def gpus_usd(run: TrainingRun, pool: PoolPrice) -> float:
    """What the nodes of the run cost, to set the rest beside."""
    hourly = pool.spot_usd_per_hour if pool.is_spot else pool.on_demand_usd_per_hour
    return run.nodes * run.hours * hourly


def bursting(run: TrainingRun) -> Place:
    """EFS paid with the bytes at rest; the price is time, see `bursting_read_hours`."""
    month = run.dataset_gb * service_catalog().usd_per_gb.efs_standard_month
    return Place(where="EFS, bursting", usd_per_month=month, usd_read=0.0, usd_written=0.0)


def bursting_read_hours(run: TrainingRun) -> float:
    """Hours that the reads of a run take at the rate that the data set earns by its size. Bursts
    come on top, and more data on the same file system makes it faster."""
    held_gib = run.dataset_gb * 1e9 / 2**30
    rate = held_gib * BURSTING_READ_KIB * 2**10
    return run.dataset_gb * 1e9 * run.epochs / rate / 3600


def elastic(run: TrainingRun) -> Place:
    """EFS billed by the byte that is moved."""
    gb = service_catalog().usd_per_gb
    return Place(
        where="EFS, elastic",
        usd_per_month=run.dataset_gb * gb.efs_standard_month,
        usd_read=run.dataset_gb * run.epochs * gb.efs_elastic_read,
        usd_written=run.checkpoint_gb * run.checkpoints * gb.efs_elastic_write,
    )


def bucket(run: TrainingRun, *, is_cached: bool = False) -> Place:
    """S3 through Mountpoint, billed by the request: two to open a file (is it there, and is it a
    folder), and one for each part that is read. A cache that holds the data set saves the latter.
    """
    price = service_catalog().usd_per_thousand
    opened = run.files * run.epochs
    reads = max(run.files, run.dataset_gb / REQUEST_GB)
    times = min(run.epochs, run.nodes) if is_cached else run.epochs
    puts = (math.ceil(run.checkpoint_gb / REQUEST_GB) + 2) * run.checkpoints
    return Place(
        where="S3, whole data set in each node's cache" if is_cached else "S3",
        usd_per_month=run.dataset_gb * service_catalog().usd_per_gb.s3_month,
        usd_read=(opened * (price.s3_get + price.s3_put) + reads * times * price.s3_get) / 1000,
        usd_written=puts * price.s3_put / 1000,
    )


def storage_prices(settings: "AwsSettings") -> StoragePrices | None:
    """What a job pays for moving bytes. None: of a file system that was there before, nobody here
    knows how it is billed."""
    if settings.storage.file_system:
        return None
    if settings.storage.throughput == "bursting":
        return StoragePrices(read_usd_per_gb=0.0, written_usd_per_gb=0.0)
    gb = service_prices(settings.region).usd_per_gb
    return StoragePrices(
        read_usd_per_gb=round(gb.efs_elastic_read, 4),
        written_usd_per_gb=round(gb.efs_elastic_write, 4),
    )


def storage_notes(settings: "AwsSettings") -> list[str]:
    """What a stack's data costs with use."""
    prices = service_prices(settings.region)
    gb, thousand = prices.usd_per_gb, prices.usd_per_thousand
    storage = settings.storage
    moved = f"; ${gb.efs_elastic_read:.2f} per GB read, ${gb.efs_elastic_write:.2f} written"
    notes = [
        f"EFS ${gb.efs_standard_month:.2f} per GB-month"
        + (moved if storage.throughput == "elastic" else "")
    ]
    if storage.backup:
        notes.append(f"Backups of EFS ${gb.efs_backup_month:.2f} per GB-month")
    if storage.bucket:
        opened = (thousand.s3_get + thousand.s3_put) * 1000
        notes.append(
            f"S3 ${gb.s3_month:.3f} per GB-month, and ${opened:.2f} for a million files opened"
        )
    return notes
