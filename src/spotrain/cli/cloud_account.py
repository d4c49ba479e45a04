"""The cloud account behind a cluster: which one it is, and what `spotrain doctor` asks of it."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType

from spotrain.cli.errors import UserError
from spotrain.cli.kubeconfig import read_config
from spotrain.clouds.zones import aws_region, gcp_region
from spotrain.doctor.finding import Finding, warn
from spotrain.job import Pool


@dataclass(frozen=True, kw_only=True)
class Whereabouts:
    """Where the cluster is in its cloud; None: nothing here says so."""

    cluster: str | None = None
    region: str | None = None
    profile: str | None = None
    """Of AWS's settings."""
    project: str | None = None
    """Of Google Cloud."""
    server: str = ""
    """Address of the API server."""

    def overridden(
        self, *, region: str | None, cluster: str | None, project: str | None
    ) -> "Whereabouts":
        return replace(
            self,
            region=region or self.region,
            cluster=cluster or self.cluster,
            project=project or self.project,
        )


def find_whereabouts(context: str | None) -> Whereabouts:
    """What the kubeconfig says: EKS's login command, or the name that gcloud gives a context."""
    try:
        config = read_config(context)
    except UserError:
        return Whereabouts()  # who connects is told why
    found = Whereabouts(server=config.cluster.server)
    parts = config.context_name.split("_")
    if len(parts) == 4 and parts[0] == "gke":
        return replace(found, project=parts[1], cluster=parts[3])
    run = config.user.exec if config.user else None
    if run is None:
        return found
    words, env = run.args or [], {each.name: each.value for each in run.env or []}
    after = dict(pairwise(words))
    return replace(
        found,
        cluster=after.get("--cluster-name") or after.get("-i") or after.get("--cluster-id"),
        region=after.get("--region") or env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION"),
        profile=after.get("--profile") or env.get("AWS_PROFILE"),
    )


def ask_cloud(
    pools: Sequence[Pool],
    *,
    images: Iterable[str],
    where: Whereabouts,
    provider_ids: Iterable[str] = (),
    managers: Mapping[str, int] = MappingProxyType({}),
) -> list[Finding]:
    """Findings on the account in which the pools' machines are rented.

    `managers`: instance type -> how many there are.
    """
    rented = [pool for pool in pools if pool.instance_types]
    if not rented:
        return []
    zones = sorted({zone for pool in rented for zone in pool.zones})
    on_google = sorted({region for zone in zones if (region := gcp_region(zone))})
    if on_google:
        return list(_ask_google(rented, on_google[0], images, where, provider_ids))
    on_aws = sorted({region for zone in zones if (region := aws_region(zone))})
    region = where.region or next(iter(on_aws), None)
    if region is None:
        said = f"not looked at: neither AWS nor Google Cloud has the zones {', '.join(zones)}."
        return [warn("cloud account", said, "name the region by --region, if it is AWS")]
    return list(_ask_aws(rented, region, images, where, managers))


def _ask_aws(
    pools: Sequence[Pool],
    region: str,
    images: Iterable[str],
    where: Whereabouts,
    managers: Mapping[str, int],
) -> Iterator[Finding]:
    try:
        from spotrain.clouds import aws_account
    except ImportError:
        yield _not_installed("AWS", "aws")
        return
    from spotrain.doctor.account import check_account

    profile = None if os.environ.get("AWS_PROFILE") else where.profile
    answers = aws_account.ask_account(
        aws_account.clients(region, profile=profile),
        region=region,
        cluster=where.cluster or "",
        types=sorted({*managers, *(each for pool in pools for each in pool.instance_types)}),
        images=images,
    )
    yield from check_account(answers, pools, managers)


def _ask_google(
    pools: Sequence[Pool],
    region: str,
    images: Iterable[str],
    where: Whereabouts,
    provider_ids: Iterable[str],
) -> Iterator[Finding]:
    try:
        from spotrain.clouds import gcp, gcp_api, gcp_project
    except ImportError:
        yield _not_installed("Google Cloud", "gcp")
        return
    from spotrain.clouds.answers import Refused
    from spotrain.doctor.project import check_project

    machines = (gcp.instance_of(each) for each in provider_ids)
    project = where.project or next((found[0] for found in machines if found), None)
    if project is None:
        said = "not looked at: nothing here says which project of Google Cloud it is."
        yield warn("cloud account", said, "name it by --project")
        return
    google: gcp_api.Google | Refused
    try:
        google = gcp_api.connect()
    except gcp_api.GoogleError as error:
        google = Refused(error.code, error.message)
    answers = gcp_project.ask_project(
        google,
        project=project,
        region=region,
        server=where.server,
        markets=sorted(
            {(type, zone) for pool in pools for type in pool.instance_types for zone in pool.zones}
        ),
        images=images,
    )
    yield from check_project(answers, pools)


def _not_installed(cloud: str, extra: str) -> Finding:
    said = f"not looked at: the library for {cloud} is not installed."
    return warn("cloud account", said, f"pip install 'spotrain[{extra}]'")
