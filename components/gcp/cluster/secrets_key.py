"""The key that Kubernetes secrets are encrypted with, beside Google's own."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp

from components.gcp.reference import Place

NINETY_DAYS = "7776000s"


@dataclass(frozen=True, kw_only=True)
class SecretsKeyArgs:
    place: Place
    after: Sequence[pulumi.Resource]
    """The API that makes keys."""


class SecretsKey(pulumi.ComponentResource):
    """A key that renews itself, and that GKE, nobody else, may encrypt and decrypt with."""

    id: pulumi.Output[str]
    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self, name: str, args: SecretsKeyArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("spotrain:gcp:SecretsKey", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        after = pulumi.ResourceOptions(parent=self, depends_on=list(args.after))
        ring = gcp.kms.KeyRing(f"{name}-ring", location=args.place.region, opts=after)
        key = gcp.kms.CryptoKey(
            f"{name}-secrets", key_ring=ring.id, rotation_period=NINETY_DAYS, opts=child
        )
        # A new project has no such identity before something asks for it.
        gke = gcp.projects.ServiceIdentity(
            f"{name}-gke", service="container.googleapis.com", opts=after
        )
        use = gcp.kms.CryptoKeyIAMMember(
            f"{name}-use",
            crypto_key_id=key.id,
            role="roles/cloudkms.cryptoKeyEncrypterDecrypter",
            member=gke.member,
            opts=child,
        )
        self.id, self.ready = key.id, (use,)
        self.register_outputs({"id": self.id})
