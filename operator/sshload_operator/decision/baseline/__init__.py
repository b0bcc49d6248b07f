"""A run held against an earlier one. Pure."""
