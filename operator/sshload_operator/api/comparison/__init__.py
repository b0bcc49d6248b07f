"""The spec of an SSHLoadTestComparison: as it is written, and as values."""
