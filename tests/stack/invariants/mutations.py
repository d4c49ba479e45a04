"""Each invariant's source, broken once.

The change is made to the recording, where the wrong line would show.
"""

from tests.stack.invariants.aws_nodes_mutations import NODES
from tests.stack.invariants.aws_security_mutations import NAMES, SECURITY
from tests.stack.invariants.gcp_mutations import GCP_BY_ADDRESS_MUTATIONS, GCP_MUTATIONS
from tests.stack.invariants.platform_mutations import PLATFORM

MUTATIONS = {"aws": [*PLATFORM, *NODES, *SECURITY, *NAMES], "gcp": GCP_MUTATIONS}
BY_ADDRESS_MUTATIONS = {"gcp": GCP_BY_ADDRESS_MUTATIONS}
