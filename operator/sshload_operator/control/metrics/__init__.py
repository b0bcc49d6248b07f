"""The metrics of the operator: what is published, and who may read it."""
