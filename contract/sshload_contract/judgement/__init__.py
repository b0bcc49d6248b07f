"""Judgement of one run or trial by its summary: what was tried, whether it can be trusted, which thresholds held."""
