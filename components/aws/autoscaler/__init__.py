"""cluster-autoscaler."""
