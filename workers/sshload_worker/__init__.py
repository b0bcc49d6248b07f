"""The load generator: a Locust master and its workers, which log in by ssh2-python and measure each step."""
