"""Two jobs in the form of upstream's samples: template with apiVersion and kind, own etcd."""

from typing import Any

import yaml

SAMPLES: tuple[dict[str, Any], ...] = tuple(
    yaml.safe_load_all("""
apiVersion: elastic.pytorch.org/v1alpha1
kind: ElasticJob
metadata: {name: imagenet, namespace: elastic-job}
spec:
  rdzvEndpoint: "etcd-service:2379"
  minReplicas: 1
  maxReplicas: 2
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
              imagePullPolicy: Always
              args: ["--nproc_per_node=1", "/workspace/examples/imagenet/main.py", "--workers=0"]
              resources: {limits: {nvidia.com/gpu: 1}}
---
apiVersion: elastic.pytorch.org/v1alpha1
kind: ElasticJob
metadata: {name: classy-vision, namespace: elastic-job}
spec:
  rdzvEndpoint: "etcd-service:2379"
  minReplicas: 1
  maxReplicas: 3
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
              imagePullPolicy: Always
              args: ["--nproc_per_node=1", "/workspace/classy_vision/classy_train.py"]
              resources: {limits: {nvidia.com/gpu: 1}}
""")
)
IMAGENET, CLASSY_VISION = SAMPLES
