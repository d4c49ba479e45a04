"""What Fluent Bit is told: where lines are, and where they go. Pure."""

from typing import Any

import yaml

NAME = "container-logs"
NAMESPACE = "kube-system"
PROBE_PORT = 2020
STATE = "/var/lib/fluent-bit"
"""How far each file was read: on the node's disk, so that a new pod goes on where the old was."""
FILES = "/var/log/containers"
FILE_NAME = r"(?<pod>[^_/]+)_(?<namespace>[^_]+)_(?<container>.+)-[0-9a-f]{64}\.log$"
"""As the kubelet names them. It is searched in the whole path, hence no slash."""


def settings(region: str, **endpoint: Any) -> str:
    """Fluent Bit's own: a stream for each container, in it the lines as they were written.

    `endpoint`: where CloudWatch is, in tests.
    """
    service = {
        "flush": 5,
        "grace": 30,
        "log_level": "warn",
        "http_server": "on",
        "http_port": PROBE_PORT,
        "storage.path": f"{STATE}/waiting",
    }
    tail = {
        "name": "tail",
        "path": f"{FILES}/*.log",
        # Its own complaints about CloudWatch would go to CloudWatch, and come back as new ones.
        "exclude_path": f"{FILES}/{NAME}-*_{NAMESPACE}_*.log",
        "tag_regex": FILE_NAME,
        "tag": "<namespace>.<pod>.<container>",
        "multiline.parser": "cri",
        "db": f"{STATE}/positions.db",
        "read_from_head": "on",
        "refresh_interval": 5,
        "rotate_wait": 30,
        "buffer_max_size": "256k",
        "skip_long_lines": "on",
        "storage.type": "filesystem",
    }
    cloudwatch = {
        "name": "cloudwatch_logs",
        "match": "*",
        "region": region,
        "log_group_name": "${LOG_GROUP}",
        "log_stream_prefix": "container.",
        "log_key": "log",
        "auto_create_group": "off",
        "retry_limit": "no_limits",
        "storage.total_limit_size": "500M",
        **endpoint,
    }
    pipeline = {"inputs": [tail], "outputs": [cloudwatch]}
    return yaml.safe_dump({"service": service, "pipeline": pipeline}, sort_keys=False)
