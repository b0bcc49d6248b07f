"""The same run by local processes, without a cluster."""
