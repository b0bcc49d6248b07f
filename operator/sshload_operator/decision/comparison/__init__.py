"""What is to be done about an SSHLoadTestComparison, and what its tests say. Pure."""
