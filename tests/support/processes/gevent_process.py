"""A test process that is patched for gevent, as a worker is, and its lanes, which are forked from it.

An event loop of gevent's that waits for the children that it is told of, and for no others.

libev's own waits for all children of its process once it waits for one. Whoever else waits for a child then learns that
it has ended, and not how: `subprocess` takes that for the exit code 0. In a worker nobody else does, because gevent has
replaced `subprocess`. A process of tests starts its programs with the real one, until somebody imports all of Locust,
which has gevent replace everything: from then on this is libev's loop.

The SSH library of these tests and of what they start: the one that ssh-library/ makes, as in the image.
"""

import os
import subprocess
import threading
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import gevent
import gevent.threading  # type: ignore[import-not-found]  # types-gevent leaves it out
from gevent import monkey
from gevent.core import loop as libev_loop  # type: ignore[import-not-found]  # types-gevent leaves it out
from ssh2._version import get_versions

_READABLE = 1


class OwnChild:
    """A watcher as `loop.child` gives them: `rstatus` is how the process ended, as wait(2) tells it."""

    def __init__(self, loop: "OwnChildrenLoop", pid: int) -> None:
        self.pid = pid
        self.rstatus = 0
        self._descriptor = os.pidfd_open(pid)
        self._end = loop.io(self._descriptor, _READABLE)

    def start(self, callback: Callable[[], object]) -> None:
        """Call `callback` once the process has ended."""
        self._end.start(self._note_end, callback)

    def stop(self) -> None:
        """Call nobody any more."""
        self._end.stop()

    def close(self) -> None:
        """Give up what it holds, once it is stopped."""
        self._end.close()
        os.close(self._descriptor)

    def _note_end(self, callback: Callable[[], object]) -> None:
        self._end.stop()
        _, self.rstatus = os.waitpid(self.pid, 0)
        callback()


class OwnChildrenLoop(libev_loop):  # type: ignore[misc]  # likewise
    """gevent's loop but for its children. To be named to gevent before its first hub is there."""

    def install_sigchld(self) -> None:
        """Leave SIGCHLD alone while children are waited for one by one."""
        if _waits_for_all():
            super().install_sigchld()

    def child(self, pid: int, *how: Any, **named: Any) -> Any:
        """Return what waits for the end of one child."""
        return super().child(pid, *how, **named) if _waits_for_all() else OwnChild(self, pid)


def _waits_for_all() -> bool:
    """Tell whether whoever starts a process does so by gevent."""
    return bool(monkey.is_module_patched("subprocess"))


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


_ROOT = Path(__file__).parents[3]


def require_own_ssh2() -> None:
    """Raise RuntimeError where .venv has another one, or an older one."""
    wanted = subprocess.check_output([_ROOT / "ssh-library/build-wheel", "--digest"], text=True).strip()
    if get_versions()["full-revisionid"] != wanted:  # type: ignore[no-untyped-call]  # ssh2-python has no types
        raise RuntimeError(f"ssh2-python {version('ssh2-python')} was built from other sources: run `make venv`")
