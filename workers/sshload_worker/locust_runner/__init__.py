"""Locust's runner, which connects master and workers: its import, and its statistics."""
