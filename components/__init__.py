"""Pulumi components: one class a file, typed arguments, no settings."""
