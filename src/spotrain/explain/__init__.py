"""Why a job is as it is: `explain(situation)` derives it from the cluster's objects.

Nothing here asks a server. Whoever does (`spotrain.cli`) hands over the objects as they are, and
says which it was not allowed to read.
"""

from spotrain.explain.cause import Cause, Gravity
from spotrain.explain.explanation import Explanation, explain
from spotrain.explain.situation import Situation

__all__ = ["Cause", "Explanation", "Gravity", "Situation", "explain"]
