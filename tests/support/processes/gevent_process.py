"""A test process that is patched for gevent, as a worker is, and its lanes, which are forked from it."""

import os
import threading

import gevent
import gevent.threading  # type: ignore[import-not-found]  # types-gevent leaves it out
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
    os.register_at_fork(after_in_child=_begin_again)
    if is_lane:
        gevent.spawn(_keep_the_loop_running)


def _begin_again() -> None:
    """Make a forked process one of its own for gevent.

    When Locust has gevent patch once more, gevent also notes the change of process twice: after the first time the
    main thread is another object, which the second time refuses.
    """
    gevent.reinit()
    gevent.threading._fork_hooks._before_fork_current_thread = threading.current_thread()


def _keep_the_loop_running() -> None:
    """Take a turn now and then: a lane waits for its next test, which another thread brings.

    In an event loop with nothing else to do, gevent takes that wait for a deadlock and raises LoopExit.
    """
    while True:
        gevent.sleep(_TURN_S)
