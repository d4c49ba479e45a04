"""How fast root disks are; pure."""

BASE_MIB_PER_SECOND = 125
"""What a gp3 disk has for nothing."""
IMAGE_MIB_PER_SECOND = 250
"""A GPU node's, while images lie on it: a training image of 15 GiB is unpacked in a minute, not in
two, and the GPUs wait for it."""
