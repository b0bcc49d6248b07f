"""Judgement of one trial: what was attempted, whether it is valid, which thresholds were met."""
