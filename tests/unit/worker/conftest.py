"""ssh2-python as the worker's image has it."""

from gevent_process import patch_for_gevent, require_own_ssh2


def pytest_configure() -> None:
    """Prepare the process before test modules are imported: some import Locust, which would patch it later."""
    patch_for_gevent()
    require_own_ssh2()
