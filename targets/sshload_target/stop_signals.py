"""The signals that PID 1 waits for. They are blocked in every thread, so none is lost between two waits."""

import signal

STOP_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT})
AWAITED_SIGNALS = STOP_SIGNALS | {signal.SIGCHLD}


def stop_is_pending() -> bool:
    """Return whether a stop signal has come that nobody has taken yet."""
    return bool(STOP_SIGNALS & signal.sigpending())
