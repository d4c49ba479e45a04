"""Runs the Pulumi program without engine, provider or account, and keeps what it registers.

The SDK's own mocks lose parents, options and duplicates; this keeps the whole request.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pulumi
from pulumi.runtime import mocks as sdk
from pulumi.runtime import rpc
from pulumi.runtime.proto import engine_pb2
from pulumi.runtime.settings import SETTINGS, configure
from pulumi.runtime.stack import run_in_stack

from stacks import stand_ins

STACK_TYPE = "pulumi:pulumi:Stack"
SIGNATURE = "4dabf18193072939515e22adb298388d"
"""Pulumi's marker key of wrapped values; its value tells what kind they are."""
SECRET = "1b47061264138c4ac30d75fd1eb44270"
RESOURCE = "5cf8f73096256a8f31e491e813e4eb8e"
MASK = "[secret]"
ANSWERS = "stacks/stand_ins.py"


@dataclass(kw_only=True)
class Registration:
    """One resource, as the program asked for it."""

    urn: str
    type: str
    name: str
    parent: str
    provider: str
    custom: bool
    depends_on: tuple[str, ...]
    ignore_changes: tuple[str, ...]
    replace_on_changes: tuple[str, ...]
    retain_on_delete: bool
    update_timeout: str
    delete_timeout: str
    """How long a change, or its removal, may take, such as 30m; empty: the provider decides."""
    inputs: dict[str, Any] = field(default_factory=dict)
    """With `[secret]` in place of secrets."""

    def document(self) -> dict[str, Any]:
        return {"type": self.type, "name": self.name, "parent": self.parent, "inputs": self.inputs}


@dataclass(kw_only=True)
class Recording:
    """Everything one run of a program did."""

    resources: list[Registration] = field(default_factory=list)
    invokes: list[dict[str, Any]] = field(default_factory=list)
    outputs: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def duplicates(self) -> list[str]:
        """URNs that were registered more than once; the engine refuses such a program."""
        urns = [resource.urn for resource in self.resources]
        return sorted({urn for urn in urns if urns.count(urn) > 1})

    def of_type(self, kind: str) -> list[Registration]:
        return [resource for resource in self.resources if resource.type == kind]

    def document(self) -> dict[str, Any]:
        """What the preview writes, in an order that does not change from run to run."""
        resources = sorted(self.resources, key=lambda resource: resource.urn)
        return {
            "resources": [resource.document() for resource in resources],
            "invokes": sorted(self.invokes, key=str),
        }


def record(
    program: Callable[[], None], *, project: str, stack: str, config: Mapping[str, str]
) -> Recording:
    """Run a program to its end, then return what it did."""
    recording = Recording()
    monitor = _Monitor(recording)
    features = set(monitor.GetDeploymentInfo(None).supportedFeatures)  # type: ignore[no-untyped-call]
    configure(
        sdk.MockSettings(  # type: ignore[no-untyped-call]
            monitor=monitor,
            monitor_features=features,
            engine=_Engine(recording),
            project=project,
            stack=stack,
            dry_run=False,
            organization="organization",
            callbacks=None,
        )
    )
    pulumi.runtime.set_all_config(dict(config))
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(run_in_stack(program))
    finally:
        loop.close()
        asyncio.set_event_loop(None)
    return recording


class _Engine(sdk.MockEngine):
    """Keeps warnings instead of logging them."""

    def __init__(self, recording: Recording) -> None:
        super().__init__(None)
        self._recording = recording

    def Log(self, request: engine_pb2.LogRequest) -> None:
        if request.severity >= engine_pb2.WARNING:
            self._recording.warnings.append(request.message)


class _Monitor(sdk.MockMonitor):
    """The SDK's mock monitor, with the engine's URNs and nothing thrown away."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._lock = threading.Lock()  # registrations arrive on a pool of threads
        self._answers = _Answers(recording, self._lock)
        super().__init__(self._answers)

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        qualified = parent.split("::")[2] if parent else ""
        chain = "" if qualified in ("", STACK_TYPE) else f"{qualified}$"
        prefix = f"urn:pulumi:{pulumi.get_stack()}::{pulumi.get_project()}"
        return f"{prefix}::{chain}{type_}::{name}"

    def RegisterResource(self, request: Any) -> Any:
        if request.type == STACK_TYPE:
            return super().RegisterResource(request)  # type: ignore[no-untyped-call]
        urn = self.make_urn(request.parent, request.type, request.name)
        registration = Registration(
            urn=urn,
            type=request.type,
            name=request.name,
            parent=request.parent,
            provider=request.provider,
            custom=request.custom,
            depends_on=tuple(request.dependencies),
            ignore_changes=tuple(request.ignoreChanges),
            replace_on_changes=tuple(request.replaceOnChanges),
            retain_on_delete=request.retainOnDelete,
            update_timeout=request.customTimeouts.update,
            delete_timeout=request.customTimeouts.delete,
        )
        with self._lock:
            self._recording.resources.append(registration)
        self._answers.current.registration = registration
        if request.type == "eks:index:Cluster":
            self._answers.current.control_plane = self._control_plane(urn, request)
        with _event_loop():
            return super().RegisterResource(request)  # type: ignore[no-untyped-call]

    def ReadResource(self, request: Any) -> Any:
        with _event_loop():
            return super().ReadResource(request)  # type: ignore[no-untyped-call]

    def Invoke(self, request: Any) -> Any:
        with _event_loop():
            return super().Invoke(request)  # type: ignore[no-untyped-call]

    def _control_plane(self, urn: str, request: Any) -> dict[str, str]:
        """Registers the aws.eks.Cluster of the pulumi_eks component; returns a reference to it."""
        prefix, own_name = urn.rsplit("::", 1)
        child = f"{prefix}$aws:eks/cluster:Cluster::{own_name}-eksCluster"
        physical = request.object.fields["name"].string_value or f"{request.name}-0000000"
        state = stand_ins.eks_cluster(physical, self._answers.region)
        self.resources[child] = self.ResourceRegistration(child, state["name"], state)
        return {SIGNATURE: RESOURCE, "urn": child, "id": state["name"], "packageVersion": ""}

    def RegisterResourceOutputs(self, request: Any) -> Any:
        if request.urn.split("::")[2] == STACK_TYPE:
            self._recording.outputs = plain(rpc.deserialize_properties(request.outputs))
        return super().RegisterResourceOutputs(request)  # type: ignore[no-untyped-call]


@contextmanager
def _event_loop() -> Iterator[None]:
    """Gives a pool thread the event loop that the SDK's mocks ask for, and closes it again.

    What a mock makes on that loop (it reads references as resources) is not for the program to wait
    for: at the end of the program the loop may be closed.
    """
    if threading.current_thread() is threading.main_thread():
        yield
        return
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    SETTINGS.outputs = set()  # of this thread's context alone
    try:
        yield
    finally:
        asyncio.set_event_loop(None)
        loop.close()


class _Answers(sdk.Mocks):
    """What the stand-in providers answer."""

    def __init__(self, recording: Recording, lock: threading.Lock) -> None:
        self._recording, self._lock = recording, lock
        self.current = threading.local()
        self.region = "us-east-1"

    def new_resource(self, args: sdk.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        if args.resource_id:  # asked for, not made
            return args.resource_id, self._found(args.typ)
        self.current.registration.inputs = plain(args.inputs)
        if args.typ in ("pulumi:providers:aws", "pulumi:providers:gcp"):
            self.region = args.inputs["region"]
        if args.typ == "eks:index:Cluster":
            return "", {**args.inputs, "eksCluster": self.current.control_plane}
        state = stand_ins.outputs_of(args.typ, args.name, args.inputs, self.region)
        return stand_ins.id_of(args.typ, args.name, state), state

    def _found(self, kind: str) -> dict[str, Any]:
        if kind not in stand_ins.FOUND:
            raise LookupError(f"no stand-in for a {kind} that exists; add one to {ANSWERS}")
        return dict(stand_ins.FOUND[kind])

    def call(self, args: sdk.MockCallArgs) -> dict[str, Any]:  # type: ignore[override]
        with self._lock:
            self._recording.invokes.append({"token": args.token, "args": plain(args.args)})
        if args.token not in stand_ins.ANSWERS:
            raise LookupError(f"no stand-in answer for {args.token}; add one to {ANSWERS}")
        return dict(stand_ins.ANSWERS[args.token])


def plain(value: Any) -> Any:
    """A copy without secrets, with names in place of resources, and with whole numbers whole: on
    the wire every number is a float."""
    if isinstance(value, dict):
        if value.get(SIGNATURE) == SECRET:
            return MASK
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, pulumi.Resource):
        return value.pulumi_resource_name
    return int(value) if isinstance(value, float) and value.is_integer() else value
