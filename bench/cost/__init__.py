"""What jobs save on recorded traces of spot capacity: a simulation with measured figures."""
