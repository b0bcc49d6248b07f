"""The kinds of steps of a scenario. Each is timed, with its parts, and ends in one outcome."""
