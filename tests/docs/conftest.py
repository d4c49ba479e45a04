"""Imports once, in quiet, what deprecates one of its own classes as it is imported."""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import pulumi_eks  # noqa: F401
