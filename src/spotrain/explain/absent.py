"""Secrets and ConfigMaps that a worker names and that are not there."""

import re
from typing import Final

from spotrain.controller.pod import CA_CONFIGMAP
from spotrain.explain.cause import Cause
from spotrain.explain.situation import Case

ABSENT: Final = re.compile(r'(secret|configmap) "(?P<name>[^"]+)" not found', re.IGNORECASE)
"""As the kubelet says it, of a volume and of an environment variable alike."""


def find_absent(case: Case, message: str) -> Cause | None:
    found = ABSENT.search(message)
    if not found:
        return None
    kind, name = found[1].lower(), found["name"]
    if name == CA_CONFIGMAP:
        return Cause(
            reason="AuthorityMissing",
            gravity=case.blocked,
            said=f"The controller has not put {name}, by which workers know the coordinator, into "
            f"the namespace {case.namespace}. Its log says why, to an administrator.",
            command="spotrain doctor",
        )
    is_secret = kind == "secret"
    return Cause(
        reason="SecretMissing" if is_secret else "ConfigMapMissing",
        gravity=case.blocked,
        said=f"It uses the {'secret' if is_secret else 'ConfigMap'} {name}, which is not in the "
        f"namespace {case.namespace}. Make it; the job then starts by itself.",
        command=case.kubectl(f"create secret generic {name} --from-literal=KEY=VALUE")
        if is_secret
        else case.kubectl(f"create configmap {name} --from-literal=KEY=VALUE"),
    )
