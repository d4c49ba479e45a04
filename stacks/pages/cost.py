"""What each stack file costs, as a page."""

from dataclasses import replace

from spotrain.quotas.wanted import Needs
from stacks.aws.storage_costs import IMAGENET, bursting_read_hours, gpus_usd, places
from stacks.bill import HOURS_PER_MONTH, Bill
from stacks.clouds import support
from stacks.pages.stacks import QUARRIES, recording_of, settings_of, stacks_on
from stacks.preview import ROOT
from stacks.preview_view import (
    QUOTA_COLUMNS,
    numbers_by_type,
    quota_names,
    quota_notes,
    worst_case,
)

PACKED_FILES = 1500
CLOUDS = {"aws": "AWS", "gcp": "Google Cloud"}
"""Cloud that bills -> what it is called."""
HEAD = """# What a stack costs

What each stack file costs: by the month while nobody trains, and by the GPU hour while somebody
does; and which quotas it needs, of which a new account has little. `make preview STACK=<stack>`
says the same of your own file. Prices are list prices from
`stacks/<cloud>/gpus.yaml` and `stacks/<cloud>/services.yaml`, with their dates; spot prices move,
and the stack's price refresher keeps the live ones in the ConfigMap `spotrain-prices`. What a job
costs is in [cost.md](cost.md).

This page is written by `make config-reference`.
"""
TAIL = """## Who pays for what, on AWS

Every resource carries the tags `project` and `stack`, every GPU node also `pool`. They show in
Cost Explorer once they are activated as cost-allocation tags, which only the payer account may do,
and only a day after the first tagged resource exists:

```console
$ aws ce update-cost-allocation-tags-status --cost-allocation-tags-status \\
    TagKey=project,Status=Active TagKey=stack,Status=Active TagKey=pool,Status=Active
```

`budget.scope: stack` counts by that tag: before it is active such a budget stays at $0 and warns
nobody. `scope: account`, the default, needs nothing.

## What to turn off first, on AWS

1. **NAT per zone** (`network.nat: single`): the largest saving of a small stack; a loss of that
   zone cuts the nodes of the others off.
2. **Interface endpoints**: each costs by zone and hour; S3, where image layers and data sets come
   from, is free in any case.
3. **Elastic throughput** of EFS: a data set that is read every epoch can cost more than the GPUs
   (see above). It belongs, packed into some thousand files, on S3 with a cache on the node's own
   disk (`storage.bucket`, `local_disks: raid0`), or is copied to the node once.
4. **Logs**: `api` control-plane logs, container logs and flow logs are billed by the GB taken in.
5. **Idle GPU nodes**: `autoscaler.idle_minutes` is paid at the end of every job by each of its
   nodes.

A job that is `suspend`ed costs nothing but its bytes; a stack without jobs costs its fixed part.
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for cloud, title in CLOUDS.items():
        parts.append(f"# On {title}\n")
        for stack in stacks_on(cloud):
            settings, bill = settings_of(stack), bill_of(stack)
            quarry = QUARRIES.get(stack)
            name = f"every option of {title} switched on" if quarry else stack
            file = quarry.relative_to(ROOT) if quarry else f"stacks/Pulumi.{stack}.yaml"
            parts.append(f"## {name}\n\n`{file}`: {support(settings.cloud).place(settings)}.\n")
            parts.append(_fixed(bill))
            parts.append(_pools(bill))
            parts.append(_quotas(support(settings.cloud).quotas(settings)))
        notes = "\n".join(f"- {note}" for note in bill.usage)
        parts.append(f"## With use, on {title}\n\n{notes}\n")
    parts.append(_example())
    parts.append(TAIL)
    return "\n".join(parts)


def _example() -> str:
    """What the place of a data set makes of the price of one run."""
    run = replace(IMAGENET, files=PACKED_FILES)
    pool = next(pool for pool in bill_of("dev").pools if pool.gpu == "t4")
    rows = []
    for loose, packed in zip(places(IMAGENET), places(run), strict=True):
        rows.append(
            f"| {loose.where} | {loose.usd_per_month:,.2f} | {loose.usd_per_run:,.2f} | "
            f"{packed.usd_per_run:,.2f} |"
        )
    head = (
        f"## Where a data set lies, on AWS\n\n{IMAGENET.dataset_gb:.0f} GB in "
        f"{IMAGENET.files:,} files, "
        f"read in {IMAGENET.epochs} epochs, with a checkpoint of {IMAGENET.checkpoint_gb} GB every "
        f"{IMAGENET.checkpoint_minutes:.0f} minutes, on {IMAGENET.nodes} nodes for "
        f"{IMAGENET.hours:.0f} hours. The nodes themselves cost "
        f"**${gpus_usd(IMAGENET, pool):,.2f}** on spot. The last column is the same data in "
        f"{PACKED_FILES:,} files (WebDataset, Parquet, ...).\n"
    )
    table = [
        "| on | $ a month at rest | $ a run | $ a run, packed |",
        "| --- | ---: | ---: | ---: |",
    ]
    tail = (
        f"Bursting costs nothing to read, but this data set alone earns so little throughput that "
        f"the reads take {bursting_read_hours(IMAGENET):.0f} hours: copy it to the nodes' own "
        f"disks once (`local_disks: raid0`), or use the bucket with a cache.\n"
    )
    return "\n".join([head, *table, *rows, "", tail])


def bill_of(stack: str) -> Bill:
    """What a stack costs, as it is built."""
    settings = settings_of(stack)
    return support(settings.cloud).bill(settings, numbers_by_type(recording_of(stack)))


def _quotas(needs: Needs) -> str:
    """What must be asked for before money can be spent."""
    rows = [
        f"| {' '.join(quota_names(each))} | {each.unit} | {each.new or '-'} | {each.at_first:,} | "
        f"{each.most:,} |"
        for each in needs.wanted
    ]
    head = f"| quota in {needs.region} | of | {' | '.join(QUOTA_COLUMNS).lower()} |"
    return "\n".join(
        [head, "| --- | --- | ---: | ---: | ---: |", *rows, "", quota_notes(needs), ""]
    )


def _fixed(bill: Bill) -> str:
    rows = [f"| {c.what} | {c.quantity} | {c.usd_per_month:,.2f} |" for c in bill.fixed]
    total = bill.usd_per_month
    rows.append(f"| **Total** | ${total / HOURS_PER_MONTH:.2f} an hour | **{total:,.2f}** |")
    return "\n".join(["| fixed | quantity | $ a month |", "| --- | ---: | ---: |", *rows, ""])


def _pools(bill: Bill) -> str:
    rows = []
    for pool in bill.pools:
        spot = f"{pool.spot_usd_per_hour / pool.gpus_per_node:.3f}" if pool.is_spot else "-"
        demand = f"{pool.on_demand_usd_per_hour / pool.gpus_per_node:.3f}"
        most = f"{pool.most_nodes * pool.gpus_per_node} GPUs, {pool.most_usd_per_hour:,.0f}"
        rows.append(
            f"| {pool.pool} | {pool.gpus_per_node} {pool.gpu} ({pool.instance_type}) | {spot} | "
            f"{demand} | {most} |"
        )
    head = "| pool | GPUs of a node | spot, $ a GPU hour | on demand | at most, $ an hour |"
    return "\n".join(
        [
            head,
            "| --- | --- | ---: | ---: | ---: |",
            *rows,
            "",
            f"{worst_case(bill)}\n",
            f"{bill.source}\n",
        ]
    )
