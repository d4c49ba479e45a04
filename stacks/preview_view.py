"""How a preview looks: tree, counts, fixed cost, GPU hours."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.tree import Tree

from spotrain.quotas.wanted import Needs, Wanted
from stacks.bill import HOURS_PER_MONTH, Bill, PoolPrice
from stacks.clouds import support
from stacks.platform_schema import PlatformSettings
from stacks.recorder import Recording, Registration

SUMMARY_DEPTH = 2
"""Levels of components that a short preview opens."""
NAMED_KINDS = 3
"""Kinds of resources that it names of each."""
MINOR_KINDS = ("Tag", "RouteTableAssociation", "RolePolicyAttachment")
"""Many, and of no interest by themselves."""


def show(
    console: Console,
    stack: str,
    settings: PlatformSettings,
    recording: Recording,
    *,
    every_resource: bool = False,
) -> None:
    """Everything, top to bottom; what is built in short, unless every resource is asked for."""
    selected = support(settings.cloud)
    bill = selected.bill(settings, numbers_by_type(recording))
    console.print(f"[bold]{stack}[/]: {selected.place(settings)}")
    console.print(resource_tree(recording, depth=None if every_resource else SUMMARY_DEPTH))
    if every_resource:
        console.print()
        console.print(counts_table(console, recording))
    if bill.fixed:
        console.print()
        console.print(fixed_table(bill))
        console.print(f"[dim]On top, with use: {'; '.join(bill.usage)}.[/]")
    if bill.pools:
        console.print()
        console.print(pools_table(bill))
        if bill.most_usd_per_hour:
            console.print(worst_case(bill))
        console.print(f"[dim]{bill.source}[/]")
    needs = selected.quotas(settings)
    if needs.wanted:
        console.print()
        console.print(quotas_table(needs))
        console.print(f"[dim]{quota_notes(needs)}[/]")


Children = Mapping[str, Sequence[Registration]]


def resource_tree(recording: Recording, *, depth: int | None = None) -> Tree:
    """Components as branches; many leaves of one type as one line, or below `depth` as numbers."""
    children: dict[str, list[Registration]] = defaultdict(list)
    for resource in sorted(recording.resources, key=lambda resource: resource.urn):
        children[resource.parent].append(resource)
    known = {resource.urn for resource in recording.resources}
    root = Tree(f"{len(recording.resources)} resources", guide_style="dim")
    for parent in [parent for parent in children if parent not in known]:
        _grow(root, parent, children, depth)
    return root


def _grow(branch: Tree, parent: str, children: Children, depth: int | None) -> None:
    leaves: dict[str, list[str]] = defaultdict(list)
    below = None if depth is None else depth - 1
    for resource in children[parent]:
        role = resource.name.removeprefix(f"{parent.rsplit('::', 1)[-1]}-")
        if resource.urn not in children:
            leaves[short(resource.type)].append(role)
        elif depth == 1:
            branch.add(f"[bold cyan]{role}[/]  [dim]{_summary(resource.urn, children)}[/]")
        else:
            label = f"[bold cyan]{role}[/]  [dim]{short(resource.type)}[/]"
            _grow(branch.add(label), resource.urn, children, below)
    for kind, roles in sorted(leaves.items()):
        branch.add(f"{kind}  [dim]{roles[0] if len(roles) == 1 else f'x {len(roles)}'}[/]")


def _summary(urn: str, children: Children) -> str:
    """`12: NodeGroup x 3, LaunchTemplate, ...`, components left out."""
    kinds = Counter(resource.type.split(":")[-1] for resource in _below(urn, children))
    first = sorted(kinds, key=lambda kind: (kind in MINOR_KINDS, -kinds[kind]))[:NAMED_KINDS]
    listed = [kind if kinds[kind] == 1 else f"{kind} x {kinds[kind]}" for kind in first]
    more = ", ..." if len(kinds) > NAMED_KINDS else ""
    return f"{kinds.total()}: {', '.join(listed)}{more}"


def _below(urn: str, children: Children) -> Iterator[Registration]:
    """What the provider makes, at any depth."""
    for resource in children.get(urn, ()):
        if resource.urn in children:
            yield from _below(resource.urn, children)
        else:
            yield resource


def short(kind: str) -> str:
    """aws:ec2/vpc:Vpc -> aws.ec2.Vpc; kubernetes:apps/v1:DaemonSet -> k8s.apps.DaemonSet"""
    package, module, name = kind.split(":")
    group = "" if module == "index" else module.split("/")[0].split(".")[0]
    return ".".join(part for part in (package.replace("kubernetes", "k8s"), group, name) if part)


def numbers_by_type(recording: Recording) -> Counter[str]:
    return Counter(resource.type for resource in recording.resources)


def counts_table(console: Console, recording: Recording) -> Table:
    """How many of what, in as many columns as fit."""
    cells = [
        f"{number:>3} {short(kind)}"
        for kind, number in sorted(
            numbers_by_type(recording).items(), key=lambda item: (-item[1], item[0])
        )
    ]
    columns = max(1, console.width // (max(map(len, cells)) + 2))
    rows = -(-len(cells) // columns)
    table = Table(
        title=f"Resources by type ({len(recording.resources)})",
        title_justify="left",
        title_style="bold",
        box=None,
        show_header=False,
        pad_edge=False,
    )
    for row in range(rows):
        table.add_row(*cells[row::rows])
    return table


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)


def fixed_table(bill: Bill) -> Table:
    """The bill of a month in which nobody trains."""
    table = _table("Fixed cost, while nobody trains")
    table.add_column("What")
    table.add_column("Quantity", justify="right")
    table.add_column("$ a month", justify="right")
    for line in bill.fixed:
        table.add_row(line.what, line.quantity, f"{line.usd_per_month:,.2f}")
    total = bill.usd_per_month
    table.add_section()
    table.add_row(
        "[bold]Total[/]", f"[dim]${total / HOURS_PER_MONTH:.2f}/h[/]", f"[bold]{total:,.2f}[/]"
    )
    return table


def pools_table(bill: Bill) -> Table:
    """What each pool has; where prices are known, what a GPU hour costs, spot beside on demand."""
    priced = any(pool.on_demand_usd_per_hour for pool in bill.pools)
    title = "GPU hours, in $ per GPU and hour (list: on demand), while somebody trains"
    table = _table(title if priced else "Pools")
    table.padding = (0, 1, 0, 0)  # twins have long names
    table.add_column("Pool")
    table.add_column("Nodes from")
    for heading in ("GPUs", *(("Spot", "List", "Saves") if priced else ()), "At most"):
        table.add_column(heading, justify="right")
    if priced:
        table.add_column("$/h", justify="right")
    for pool in bill.pools:
        gpus, nodes = pool.gpus_per_node, pool.most_nodes
        table.add_row(
            pool.pool,
            pool.instance_type,
            f"{gpus} {pool.gpu}" if gpus else pool.gpu,
            *(_prices(pool) if priced else ()),
            f"{nodes * gpus} GPUs" if gpus else f"{nodes} node{'s' if nodes > 1 else ''}",
            *([_dollars(pool.most_usd_per_hour)] if priced else ()),
        )
    return table


QUOTA_COLUMNS = ("New account", "To begin", "All full")


def quotas_table(needs: Needs) -> Table:
    """What to ask the cloud for before the first job: too little, and no node comes."""
    table = _table(f"Quotas in {needs.region}, to have before the first job")
    table.padding = (0, 1, 0, 0)
    table.add_column("Quota")
    table.add_column("Of")
    for heading in QUOTA_COLUMNS:
        table.add_column(heading, justify="right")
    for each in needs.wanted:
        numbers = (each.new or "-", f"{each.at_first:,}", f"{each.most:,}")
        table.add_row("\n".join(quota_names(each)), each.unit, *numbers)
    return table


def quota_names(wanted: Wanted) -> Iterator[str]:
    """With its code, or with those that count where a project has none by the first name."""
    first, *others = wanted.names
    yield f"{first} ({wanted.code})" if wanted.code else first
    yield from (f"else {name}" for name in others)


def quota_notes(needs: Needs) -> str:
    """What the columns mean, and what no row says."""
    return " ".join(["To begin: a node of each pool, and the fewest managers.", *needs.notes])


def worst_case(bill: Bill) -> str:
    """What a mistake can cost: every pool full, all month."""
    at_list = f", {_dollars(bill.most_listed_usd_per_hour)} if spot costs as much as on demand"
    dearer = any(pool.is_spot for pool in bill.pools)
    return (
        f"All pools full: {_dollars(bill.most_usd_per_hour)} an hour{at_list if dearer else ''}. "
        f"With the fixed cost at most {_dollars(bill.most_usd_per_month)} a month, and what comes "
        "with use."
    )


def _dollars(usd: float) -> str:
    return f"${usd:,.0f}" if usd >= 100 else f"${usd:,.2f}"


def _prices(pool: PoolPrice) -> tuple[str, str, str]:
    """Of a GPU, or of a node without; the one that is paid in bold."""
    if not pool.on_demand_usd_per_hour:
        return "-", "-", "-"
    parts = pool.gpus_per_node or 1
    spot, demand = pool.spot_usd_per_hour / parts, pool.on_demand_usd_per_hour / parts
    if not pool.is_spot:
        return "-", f"[bold]{demand:.3f}[/]", "-"
    return f"[bold]{spot:.3f}[/]", f"{demand:.3f}", f"{pool.saving:.0%}"
