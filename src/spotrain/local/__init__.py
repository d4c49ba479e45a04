"""A cluster on this machine: nodes with GPUs on paper, pods as processes, everything else real."""
