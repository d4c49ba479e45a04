"""What to type where Google runs the autoscaler and the device plugin."""

from typing import Final

from spotrain.clouds.zones import gcp_region
from spotrain.explain.situation import Case

AUTOSCALER: Final = "kubectl -n kube-system get configmap cluster-autoscaler-status -o yaml"
"""It runs beside the control plane; this is what can be seen of it."""
PLUGIN: Final = "kubectl -n kube-system get pods -l k8s-app=nvidia-gpu-device-plugin"


def is_on_google(case: Case) -> bool:
    return any(gcp_region(zone) for pool in case.pools for zone in pool.zones)
