"""A test process that is patched for gevent, as a worker is, and its lanes, which are forked from it."""

import os
import threading

import gevent
import gevent.threading  # type: ignore[import-not-found]  # types-gevent leaves it out
from gevent import monkey
from own_children import OwnChildrenLoop


def patch_for_gevent() -> None:
    """Patch this process; to be called by `pytest_configure`, before test modules are imported."""
    # Processes are started as ever: gevent's own fork is none for a process with threads.
    gevent.config.loop = OwnChildrenLoop
    monkey.patch_all(subprocess=False, os=False, signal=False)
    os.register_at_fork(after_in_child=_begin_again)


def _begin_again() -> None:
    """Make a forked process one of its own for gevent.

    When Locust has gevent patch once more, gevent also notes the change of process twice: after the first time the
    main thread is another object, which the second time refuses.
    """
    gevent.reinit()
    gevent.threading._fork_hooks._before_fork_current_thread = threading.current_thread()
