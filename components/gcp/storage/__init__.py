"""The shared file system, and a bucket."""
