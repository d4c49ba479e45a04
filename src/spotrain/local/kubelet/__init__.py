"""A kubelet for made-up nodes of a real cluster: their pods are processes on this machine."""

from spotrain.local.kubelet.kubelet import Kubelet
from spotrain.local.kubelet.node import NodeSpec
from spotrain.local.kubelet.options import Options

__all__ = ["Kubelet", "NodeSpec", "Options"]
