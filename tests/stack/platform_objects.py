"""What the platform puts on a cluster, without what each cloud decides.

`python -m tests.stack.platform_objects` writes the golden file.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from components.manifest import FOLDER, read_manifest
from stacks.pages.stacks import recording_of, settings_of
from stacks.recorder import Recording, Registration

GOLDEN = Path(__file__).with_name("golden") / "platform.yaml"
SMALL = {"aws": "dev", "gcp": "gcp", "existing": "kind"}
"""Cloud -> a stack of it with next to nothing on request."""
PLATFORM = "spotrain:platform:"
DECIDED: Mapping[str, Mapping[str, str]] = {
    "ConfigMap elastic-jobs-pools": {"data": "the pools: what there is, and what it costs"},
    "ResourceQuota jobs-quota-": {"spec/hard": "as large as the pools"},
    "PersistentVolume shared-volume-": {
        "spec/csi": "a driver of the cloud's",
        "spec/hostPath": "a folder of a cluster of one node",
        "spec/mountOptions": "the driver's",
    },
    "CronJob prices-refresher": {
        "spec/jobTemplate/spec/template/spec/containers/0/args": "which cloud is asked"
    },
}
"""Kind and beginning of the name -> path in the object -> what a cloud decides there."""
NOT_EVERYWHERE: Mapping[str, str] = {
    "prices-": "where nobody tells prices, nobody refreshes them",
    "shared-folders-spotrain-archive": "a cloud hands the archive's folder over as it must be",
}
"""Part of an object's name -> why it is missing on some cloud."""
BY_CLOUD = "[decided by the cloud]"


def platform_objects(cloud: str) -> dict[str, Any]:
    """Kind and name -> body of what the platform's components make; plain files of k8s/ left out,
    as they reach every cluster unchanged."""
    stack = SMALL[cloud]
    recording = recording_of(stack)
    files = [body for file in FOLDER.glob("*.yaml") for body in read_manifest(file.name)]
    return {
        name: _masked(name, resource, recording)
        for name, resource in sorted(_made(recording))
        if resource.inputs not in files
    }


def _made(recording: Recording) -> Iterator[tuple[str, Registration]]:
    for resource in recording.resources:
        if resource.type.startswith("kubernetes:") and PLATFORM in resource.urn:
            yield f"{resource.type.rpartition(':')[2]} {resource.name}", resource


def _masked(name: str, resource: Registration, recording: Recording) -> Any:
    body = _without_images(resource.inputs, recording)
    for beginning, paths in DECIDED.items():
        for path in paths if name.startswith(beginning) else ():
            _mask(body, path.split("/"))
    return body


def _without_images(value: Any, recording: Recording) -> Any:
    """A copy in which every image of ours has its output's name."""
    if isinstance(value, dict):
        return {key: _without_images(item, recording) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_images(item, recording) for item in value]
    for output in ("trainingImage", "controllerImage"):
        if value == recording.outputs[output]:
            return f"[{output}]"
    return value


def _mask(body: Any, path: list[str]) -> None:
    *parents, last = path
    for part in parents:
        body = body[int(part)] if isinstance(body, list) else body.get(part, {})
    if last in body:
        # One name, whichever of a cloud's ways it stands for.
        del body[last]
        body[BY_CLOUD] = True


def golden_text() -> str:
    """Of a cloud that makes everything."""
    head = f"# What the platform makes on every cloud. Written by python -m {__spec__.name}\n"
    return head + yaml.safe_dump(platform_objects("aws"), sort_keys=True, width=100)


def main() -> None:
    assert settings_of(SMALL["aws"]).cloud == "aws"
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text(golden_text())
    print(f"wrote {GOLDEN.name}")


if __name__ == "__main__":
    main()
