"""What a run needs in any world: on a cluster, and by local processes."""
