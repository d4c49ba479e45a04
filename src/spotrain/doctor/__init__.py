"""A preflight: what would keep jobs from running, found before money is spent.

Every check is a pure function over answers that somebody has recorded: objects of the cluster,
answers of the cloud account (`spotrain.clouds.account`), facts of this machine.
"""

from spotrain.doctor.finding import Finding, Verdict, gravest

__all__ = ["Finding", "Verdict", "gravest"]
