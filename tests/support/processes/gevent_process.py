"""A test process that is patched for gevent, as a worker is, alone or as a lane of pytest-xdist."""

import gevent
import pytest
from gevent import monkey
from own_children import OwnChildrenLoop

_TURN_S = 0.1


def patch_for_gevent(config: pytest.Config) -> None:
    """Patch this process if it runs tests; to be called by `pytest_configure`, before test modules are imported.

    The controller of pytest-xdist runs none, and could not start its lanes once it is patched.
    """
    is_lane = hasattr(config, "workerinput")
    if config.getoption("dist", "no") != "no" and not is_lane:
        return
    # Processes are started as ever: gevent's own fork is none for a process with threads.
    gevent.config.loop = OwnChildrenLoop
    monkey.patch_all(subprocess=False, os=False, signal=False)
    if is_lane:
        gevent.spawn(_keep_the_loop_running)


def _keep_the_loop_running() -> None:
    """Take a turn now and then: a lane waits for its next test, which another thread brings.

    In an event loop with nothing else to do, gevent takes that wait for a deadlock and raises LoopExit.
    """
    while True:
        gevent.sleep(_TURN_S)
