"""The elastic training platform: it knows a cluster, never which cloud the cluster is on."""
