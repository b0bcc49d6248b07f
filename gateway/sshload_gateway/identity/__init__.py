"""Who calls, by a JWT, and how often a caller may."""
