"""Tables larger than memory: one mapped file, sorting on disk, shards for a cluster."""
