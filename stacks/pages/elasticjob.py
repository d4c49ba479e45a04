"""The ElasticJob as a page: its fields as the custom resource definition explains them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from stacks.wording import in_one_line

ROOT: Final = Path(__file__).parents[2]
CRD: Final = ROOT / "k8s" / "crd.yaml"
SKIPPED: Final = ("spec.runPolicy", "spec.RunPolicy", "spec.replicaSpecs.Worker.template.spec")
"""Spellings of other fields, and what Kubernetes itself explains."""

HEAD: Final = """# The ElasticJob

A PyTorch training job on a number of workers that may change while it runs. The API is upstream
TorchElastic's (`elastic.pytorch.org/v1alpha1`), so that old jobs apply as they are; what it lacked
is added. `kubectl explain elasticjob.spec` shows the fields below in a terminal; what the
controller makes of them is in [controller.md](controller.md). This page is written by
`make config-reference`.

## The smallest job
One worker, which is lost and replaced as often as it takes:

```yaml
apiVersion: elastic.pytorch.org/v1alpha1
kind: ElasticJob
metadata: {name: digits, namespace: elastic-job}
spec:
  replicaSpecs:
    Worker:
      template:
        spec:
          containers:
            - {name: elasticjob-worker, image: my-image, args: [train.py]}
```

## An elastic job on spot GPUs
It starts as soon as two workers have a node and grows to eight; all of them in the zone where a T4
is cheapest. It waits a day at most, and may fail three times by its own fault:

```yaml
apiVersion: elastic.pytorch.org/v1alpha1
kind: ElasticJob
metadata: {name: imagenet, namespace: elastic-job}
spec:
  minReplicas: 2
  maxReplicas: 8
  backoffLimit: 3
  ttlSecondsAfterFinished: 604800
  placement: {gpu: t4, capacity: spotThenOnDemand}
  elastic: {minReplicasTimeoutSeconds: 86400, progressDeadlineSeconds: 1800}
  replicaSpecs:
    Worker:
      replicas: 8
      template:
        spec:
          containers:
            - name: elasticjob-worker
              image: my-image
              args: [imagenet.py, /mnt/efs/data/imagenet]
              resources: {limits: {nvidia.com/gpu: 1, memory: 12Gi}}
```

## A rigid job
Four workers or none, every one of which must succeed; drains wait rather than take one away:

```yaml
apiVersion: elastic.pytorch.org/v1alpha1
kind: ElasticJob
metadata: {name: rigid, namespace: elastic-job}
spec:
  minReplicas: 4
  maxReplicas: 4
  successPolicy: AllWorkers
  podDisruptionBudget: true
  schedulingPolicy: {}
  replicaSpecs:
    Worker:
      replicas: 4
      template:
        spec:
          containers:
            - {name: elasticjob-worker, image: my-image, args: [train.py]}
```

## An old job
With `rdzvEndpoint` workers meet at a rendezvous of your own, as upstream's did; torch's own
elasticity applies, with what it loses ([controller.md](controller.md)). Its run policy may stand in
`spec`, in `spec.runPolicy` or in `spec.RunPolicy`:

```yaml
apiVersion: elastic.pytorch.org/v1alpha1
kind: ElasticJob
metadata: {name: old, namespace: elastic-job}
spec:
  rdzvEndpoint: etcd-service:2379
  minReplicas: 1
  maxReplicas: 2
  runPolicy: {cleanPodPolicy: All}
  replicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: ExitCode
      template:
        apiVersion: v1
        kind: Pod
        spec:
          containers:
            - name: elasticjob-worker
              image: torchelastic/examples:0.2.0
              args: ["--nproc_per_node=1", /workspace/examples/imagenet/main.py]
```

## What is refused
The API server refuses what cannot be meant, and says what to do: an unknown field, `minReplicas`
below 1 or above `maxReplicas`, a new job whose `replicas` lie outside the two, unknown policies,
negative numbers, no container, a name too long for its pods' host names. What running workers rest
on (the template, `restartPolicy`, `rdzvEndpoint`, `managedBy`) changes only while the job is
suspended, or in the write that resumes it. A job that has ended is frozen, but for
`ttlSecondsAfterFinished`. What slips through inside the template is told in the condition Running,
with the reason InvalidSpec and the field's path; mending it revives the job.
"""


def page() -> str:
    crd = yaml.safe_load(CRD.read_text())
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    parts = [HEAD]
    for section, title in (("spec", "Fields"), ("status", "Status")):
        parts.append(f"## {title}\n\n| field | type | default | what it means |")
        parts.append("| --- | --- | --- | --- |")
        parts += _rows(schema[section], section)
        parts.append("")
    return "\n".join(parts)


def _rows(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    for name, field in schema.get("properties", {}).items():
        here = f"{path}.{name}"
        below = field.get("items", field.get("additionalProperties", field))
        below = below if isinstance(below, Mapping) else field
        default = field.get("default")
        said = "" if default in (None, {}) else f"`{in_one_line(default)}`"
        # A list's own elements are explained by the list, unless they have fields of their own.
        yield f"| `{here}` | {_type(field)} | {said} | {_cell(field['description'])} |"
        if here not in SKIPPED:
            yield from _rows(below, f"{here}[]" if "items" in field else here)


def _type(field: Mapping[str, Any]) -> str:
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if field["type"] == "array":
        return f"list of {field['items']['type']}"
    limits = [str(field[key]) for key in ("minimum", "maximum") if key in field]
    if len(limits) == 2:
        return f"{field['type']}, {' to '.join(limits)}"
    return f"{field['type']}, from {limits[0]}" if limits else str(field["type"])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
