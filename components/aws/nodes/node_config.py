"""User data of nodes: what EKS's own set-up of a node is told besides; pure."""

import base64
import json

BOUNDARY = "spotrain"


def local_disks_as_storage() -> str:
    """User data that joins an instance's NVMe disks to one (RAID 0), which then holds images, logs
    and the pods' temporary files.

    EKS appends the part that joins the cluster; nodeadm merges the two. Base64, as EC2 wants it.
    """
    return _user_data({"instance": {"localStorage": {"strategy": "RAID0"}}})


def _user_data(spec: dict[str, object]) -> str:
    config = {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec}
    document = "\n".join(
        [
            "MIME-Version: 1.0",
            f'Content-Type: multipart/mixed; boundary="{BOUNDARY}"',
            "",
            f"--{BOUNDARY}",
            "Content-Type: application/node.eks.aws",
            "",
            json.dumps(config),  # JSON is YAML
            "",
            f"--{BOUNDARY}--",
            "",
        ]
    )
    return base64.b64encode(document.encode()).decode()
