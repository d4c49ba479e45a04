"""The acceptance list: what an elastic job controller must do, by number."""

from collections.abc import Mapping
from typing import Final

PARTS: Final[Mapping[str, range]] = {
    "Compatibility": range(1, 8),
    "Validation": range(8, 9),
    "Lifecycle": range(9, 17),
    "Disruption": range(17, 25),
    "Scaling": range(25, 29),
    "Queueing and placement": range(29, 34),
    "Cleanup and time": range(34, 37),
    "Operations": range(37, 41),
}
ITEMS: Final[Mapping[int, str]] = {
    1: "The CRD installs without warnings, is structural, and takes upstream's jobs strictly "
    "validated.",
    2: "Pods have upstream's names, four labels and controlling owner; names that fit no host name "
    "are refused.",
    3: "Peers find each other: by address, which needs neither Services nor DNS.",
    4: "The launcher's settings reach the training container alone, and what the user set wins.",
    5: "With rdzvEndpoint torch's own rendezvous is set up upstream's way; without, the "
    "coordinator.",
    6: "All three spellings of the run policy mean the same; the spec is never written.",
    7: "What is left out has its default, and no input makes the process crash.",
    8: "Slips are refused with what to do; what running workers rest on cannot change, ended jobs "
    "are frozen but for their time to live.",
    9: "Conditions have metav1's shape, are unique by type, and keep their time.",
    10: "The status has generation, times, replica counts, restarts and the attempt.",
    11: "Running means that at least minReplicas workers are ready; why a pod waits is told.",
    12: "The first success is the job's, once; nobody is replaced after it. All may be required.",
    13: "A failure counts once a generation, is tried again after growing pauses, and ends the job "
    "beyond backoffLimit.",
    14: "Every restart policy meets every way to end; upstream's codes and further ones are "
    "retried.",
    15: "Workers that fall with one that was taken away use up no failure.",
    16: "A job goes on while minReplicas can be had, and fails when it cannot come back, or not in "
    "time.",
    17: "Evicted, preempted and drained workers are replaced, counted apart, and told.",
    18: "A pod stuck on a dead node is forced out; one index never has two live pods.",
    19: "A node's notice makes exactly its workers leave, before they must.",
    20: "SIGTERM reaches the trainer, and it saves before SIGKILL.",
    21: "Rank 0's pod is killed: the survivors go on in their containers, from the checkpoint.",
    22: "The rendezvous goes away: nobody restarts. (Upstream's store pod; here the coordinator "
    "is killed, and training goes on.)",
    23: "A PodDisruptionBudget of minReplicas on request, owned, removed at the end.",
    24: "A world that hangs is restarted after progressDeadlineSeconds.",
    25: "kubectl scale and autoscalers work, within minReplicas and maxReplicas (ScaleClamped).",
    26: "Growing takes the lowest free indexes; shrinking the worker that does least good.",
    27: "There are never more pods than maxReplicas, those on their way out counted.",
    28: "A job starts at minReplicas and grows when there is room.",
    29: "Suspending gives all pods back; resuming is a new attempt with its own clock.",
    30: "Jobs that others manage are not touched; queues may hold a job and say where it runs.",
    31: "Gang schedulers get their PodGroup, where their API exists.",
    32: "All workers in one zone, and the first one is never locked out.",
    33: "What the template says of scheduling, resources and devices is kept as it is.",
    34: "cleanPodPolicy holds at every end, and the end is on record before pods go.",
    35: "Deadlines and times to live fire by themselves, zero and late ones too.",
    36: "No finalizers: a deleted job leaves nothing behind.",
    37: "Killed anywhere, the controller comes to the same end; it adopts no other job's pods.",
    38: "One of two replicas leads; failover takes less than 20 s.",
    39: "The controller has exactly the rights that it uses.",
    40: "Probes, metrics, printer columns, explanations of every field; events without repetition.",
}
