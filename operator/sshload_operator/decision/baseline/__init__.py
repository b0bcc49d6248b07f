"""A run compared with an earlier one. Pure."""
