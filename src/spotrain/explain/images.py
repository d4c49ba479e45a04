"""Workers whose image does not come, and why."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final, NamedTuple

from spotrain.controller.model import PodView
from spotrain.controller.presence import ARRIVAL_MINUTES, PULL_FAULTS
from spotrain.explain.cause import Cause, Gravity, clock, ended
from spotrain.explain.situation import Case, trainer
from spotrain.explain.volumes import volume_fault


class _Fault(NamedTuple):
    reason: str
    words: tuple[str, ...]
    step: str


PULLS: Final = (
    _Fault(
        "ImageNotAllowed",
        ("unauthorized", "forbidden", "denied", "no basic auth", "authentication required", "401"),
        "The registry does not let the node have it, or there is no such repository: check the "
        "name, then the right to pull it (an imagePullSecret, or the node's role).",
    ),
    _Fault(
        "ImageNotFound",
        ("not found", "manifest unknown", "name unknown", "does not exist"),
        "The registry has no such image: correct its name, tag or digest.",
    ),
    _Fault(
        "RegistryLimit",
        ("toomanyrequests", "429"),
        "The registry serves no more for now: copy the image to your own registry, or wait.",
    ),
    _Fault(
        "ImageWrongPlatform",
        ("no match for platform", "exec format"),
        "The image was built for another processor: build it for linux/amd64.",
    ),
    _Fault(
        "DiskFull",
        ("no space left",),
        "The node's disk is too small for it: make the image smaller, or have the pool's disk_gib "
        "raised.",
    ),
    _Fault(
        "RegistryUnreachable",
        ("timeout", "no such host", "connection refused", "dial tcp", "reset by peer", "eof"),
        "The registry was not reached from the node: check its name, and the way from the nodes to "
        "it.",
    ),
)
"""What registries and runtimes say, the more telling first: a timeout is part of other messages."""


def find_unpulled_images(case: Case) -> Iterator[Cause]:
    stuck = [pod for pod in case.housed if pod.waits_for in PULL_FAULTS]
    if stuck:
        yield _pull_fault(case, stuck[0])
        return
    for pod in case.housed:
        pulling, pulled = case.told_of(pod, "Pulling"), case.told_of(pod, "Pulled")
        if pulling and not (pulled and pulled.at >= pulling.at) and not volume_fault(case, pod):
            yield _slow_pull(
                case, pod, slow=case.now - pulling.since >= timedelta(minutes=ARRIVAL_MINUTES)
            )
            return


def _image(case: Case, pod: PodView) -> str:
    document = next(raw for raw in case.raw.pods if raw["metadata"]["uid"] == pod.uid)
    return str(trainer(document["spec"]).get("image", ""))


def _pull_fault(case: Case, pod: PodView) -> Cause:
    """The kubelet's events have the registry's words; a container that backs off may not."""
    event = case.told_of(pod, "Failed")
    waiting = case.waiting(pod)
    told = event.message if event and "pull" in event.message.lower() else waiting
    if pod.waits_for == "InvalidImageName":
        fault = _Fault("ImageNameInvalid", (), "That is no image's name: correct it.")
    else:
        text = told.lower().replace(_image(case, pod).lower(), "")
        known = (each for each in PULLS if any(word in text for word in each.words))
        fault = next(known, _Fault("ImageFault", (), "Correct the image, or try again."))
    return Cause(
        reason=fault.reason,
        gravity=case.blocked,
        said=f"The image {_image(case, pod)} cannot be pulled: {ended(told)} {fault.step}",
        command=case.correction,
    )


def _slow_pull(case: Case, pod: PodView, *, slow: bool) -> Cause:
    pulling = case.told_of(pod, "Pulling")
    since = clock(pulling.since) if pulling else ""
    image = _image(case, pod)
    if slow:
        return Cause(
            reason="ImageTooSlow",
            gravity=case.blocked,
            said=f"{pod.name} has been pulling {image} since {since}, longer than "
            f"{ARRIVAL_MINUTES} minutes: make the image smaller, or keep it in a registry of "
            "the same region.",
            command=case.kubectl(f"describe pod {pod.name}"),
        )
    return Cause(
        reason="ImagePulling",
        gravity=case.unless_it_trains(Gravity.COMING),
        said=f"{pod.name} has been pulling its image, {image}, since {since}.",
        command=f"spotrain status {case.name}",
    )
