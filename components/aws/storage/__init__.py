"""The shared file system, its backups, and a bucket."""
