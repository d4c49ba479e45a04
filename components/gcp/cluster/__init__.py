"""The control plane, and who may talk to it."""
