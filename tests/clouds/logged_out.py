"""A person, or a pod, whom AWS does not know."""

from pathlib import Path

import pytest


def log_out(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """No credentials anywhere, and no configuration; `folder` holds neither."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(folder / "none"))
