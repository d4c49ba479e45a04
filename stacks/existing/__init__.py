"""Stack files of a cluster that exists already."""
