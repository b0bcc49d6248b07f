"""Locust's runner, which connects master and workers: how it is imported, and the statistics that it keeps."""
