"""What the gateway asks a cluster for: load tests of callers."""
