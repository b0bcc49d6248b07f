"""The kinds of steps a scenario is made of: each is timed in its parts, and ends in one outcome."""
