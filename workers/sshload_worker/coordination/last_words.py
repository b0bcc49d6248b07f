"""The end of a line between master and worker: what was said last must still leave this process."""

from typing import Any


def close_after_last_words(line: Any, linger_ms: int) -> None:
    """Close a line of Locust's (rpc.Client or rpc.Server) once all that was sent is on its way, or the time is over.

    Closing alone does not wait, and an exit ends ZeroMQ's thread with what it has not sent yet: ending the context is
    what waits (zmq_ctx_term(3)). Each of Locust's lines has a context of its own.
    """
    context = line.socket.context
    line.close(linger=linger_ms)
    context.term()
