"""Judgement of one run or trial by its summary: what was attempted, whether it is valid, which thresholds were met."""
