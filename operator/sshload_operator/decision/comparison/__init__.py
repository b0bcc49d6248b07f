"""What must be done for an SSHLoadTestComparison, and the results of its tests. Pure."""
